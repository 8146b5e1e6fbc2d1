// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "tests/conformance/ns_runner.h"

namespace muonbench {
namespace {

using reference::Arithmetic;
using reference::relative_error;

constexpr MatmulPrecision kHighest = MatmulPrecision::kHighest;
constexpr MatmulPrecision kMedium = MatmulPrecision::kMedium;

bool all_of(const HostMatrix& matrix, bool (*predicate)(float)) {
  return std::all_of(matrix.values.begin(), matrix.values.end(), predicate);
}

TEST_P(DeviceConformance, NsOfZerosIsZeros) {
  for (const MatmulPrecision precision : {kHighest, kMedium}) {
    for (const NsOptions& options : supported(device(), ns_options("quintic", 5, precision))) {
      const HostMatrix out = orthogonalized(device(), constant_matrix({8, 16}, 0.0F), options);
      EXPECT_TRUE(all_of(out, [](float value) { return value == 0.0F; }));
    }
  }
}

TEST_P(DeviceConformance, NsOfANonFiniteMatrixIsNaNThroughout) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{100}, std::size_t{8 * 17 - 1}}) {
      // A shape that has halves, too.
      for (const Shape shape : {Shape{8, 17}, Shape{16, 24}}) {
        HostMatrix in = random_matrix(shape, 19);
        in.values[at] = bad;
        for (const MatmulPrecision precision : {kHighest, kMedium})
          for (const NsOptions& options : supported(device(), ns_options("quintic", 5, precision)))
            EXPECT_TRUE(
                all_of(orthogonalized(device(), in, options), [](float value) { return std::isnan(value); }))
                << bad << " at " << at;
      }
    }
  }
}

TEST_P(DeviceConformance, NsOfTheLargestFiniteNumbersIsThatOfOnes) {
  // Their squares, and their norm, are beyond fp32.
  for (const Shape shape : {Shape{4, 16}, Shape{1, 1}, Shape{300, 7}}) {
    const NsOptions options = ns_options("quintic", 5, kHighest);
    const HostMatrix ones = orthogonalized(device(), random_signs(shape, 20), options);
    const HostMatrix huge =
        orthogonalized(device(), times(random_signs(shape, 20), std::numeric_limits<float>::max()), options);
    EXPECT_LT(relative_error(as_reference(huge), as_reference(ones)), kFp32Error);
  }
}

TEST_P(DeviceConformance, NsDividesByNoLessThanTheSmallestNorm) {
  const NsOptions options = ns_options("quintic", 5, kHighest);
  // 2^-44 is a norm above 1e-15, though its square vanishes in fp32: normalised like any other.
  const HostMatrix in = random_matrix({24, 40}, 21);
  const HostMatrix small = orthogonalized(device(), times(in, 0x1p-50F), options);
  EXPECT_LT(relative_error(as_reference(small), expected(in, options, Arithmetic::kExact)), kFp32Error);
  const HostMatrix tiny = times(in, 1e-30F);
  const HostMatrix out = orthogonalized(device(), tiny, options);
  EXPECT_LT(relative_error(as_reference(out), expected(tiny, options, Arithmetic::kExact)), kFp32Error);
  EXPECT_LT(as_reference(out).norm(), 1e-10);
}

}  // namespace
}  // namespace muonbench
