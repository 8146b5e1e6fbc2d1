// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// NS by gram: the same polynomial by other products, in medium of other numbers.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/conformance/ns_runner.h"

#include "src/ns/coefficients.h"

namespace muonbench {
namespace {

using reference::Arithmetic;
using reference::relative_error;

constexpr MatmulPrecision kHighest = MatmulPrecision::kHighest;
constexpr MatmulPrecision kMedium = MatmulPrecision::kMedium;

/// With and without symmetric kernels, of one and of several of their boxes.
const std::vector<Shape> kGramShapes = {{24, 40}, {40, 24},  {16, 16},  {33, 7},    {7, 33},
                                        {8, 16},  {96, 200}, {200, 72}, {136, 136}, {128, 320}};

NsOptions by_gram(NsOptions options) {
  options.algorithm = NsAlgorithm::kGram;
  return options;
}

double error_of(Device& device, const HostMatrix& in, const NsOptions& options) {
  return relative_error(as_reference(orthogonalized(device, in, options)),
                        expected(in, options, Arithmetic::kExact));
}

TEST_P(DeviceConformance, GramInMediumIsCloserToEveryPolynomialThanGemm) {
  if (!device().capabilities().gram) GTEST_SKIP() << "no gram";
  for (const CoefficientSet& set : coefficient_sets()) {
    const int steps = set.name == "simple" ? 5 : static_cast<int>(set.entries.size());
    const NsOptions gemm = ns_options(set.name, steps, kMedium);
    for (const Shape shape : kGramShapes) {
      const HostMatrix in = random_matrix(shape, 31);
      const double by = error_of(device(), in, by_gram(gemm)), other = error_of(device(), in, gemm);
      // Mostly three times closer. Square matrices have singular values near 0, where maps are steep, cans
      // the most.
      const double of_square = set.name == "cans" ? 2.0 : 1.5;
      EXPECT_LT(by, shape.rows == shape.cols ? of_square * other : other)
          << set.name << " " << shape.rows << " x " << shape.cols;
    }
  }
}

TEST_P(DeviceConformance, GramOfOneStepIsExactWhereEveryIntermediateIs) {
  if (!device().capabilities().gram) GTEST_SKIP() << "no gram";
  for (const NsCoefficients step : {NsCoefficients{2.0, -1.5, 0.5}, NsCoefficients{1.5, -0.5, 0.0}})
    for (const Shape shape : kExactNsShapes) {
      const NsOptions options = by_gram(ns_options(step, kHighest));
      const HostMatrix in = random_signs(shape, 13);
      EXPECT_EQ(as_reference(orthogonalized(device(), in, options)).values,
                expected(in, options, Arithmetic::kExact).values)
          << shape.rows << " x " << shape.cols;
    }
}

TEST_P(DeviceConformance, GramOfStretchesOfUnlikeLengthsIsThePolynomial) {
  if (!device().capabilities().gram) GTEST_SKIP() << "no gram";
  for (int steps = 1; steps <= 12; ++steps) {
    const NsOptions highest = ns_options("quintic", steps, kHighest),
                    medium = ns_options("quintic", steps, kMedium);
    for (const Shape shape : {Shape{24, 72}, Shape{72, 24}, Shape{15, 40}}) {
      const HostMatrix in = random_matrix(shape, 34);
      // From the sixth on the set begins anew, with slopes for singular values that are not there any more.
      EXPECT_LT(error_of(device(), in, by_gram(highest)), 5e-4) << steps;
      EXPECT_LT(error_of(device(), in, by_gram(medium)), error_of(device(), in, medium)) << steps;
    }
  }
}

TEST_P(DeviceConformance, GramOfABatchIsThatOfEachOfItsMatrices) {
  if (!device().capabilities().gram) GTEST_SKIP() << "no gram";
  constexpr int kCount = 5;
  for (const Shape shape : {Shape{72, 200}, Shape{200, 72}, Shape{33, 70}}) {
    const NsOptions options = for_device(device(), by_gram(ns_options("quintic", 5, kMedium)));
    std::vector<HostMatrix> in;
    std::vector<DeviceArray<float>> memory;
    BoundNewtonSchulz work{shape, {}, nullptr, options};
    for (int i = 0; i < kCount; ++i) {
      in.push_back(times(random_matrix(shape, 40U + static_cast<unsigned>(i)), std::ldexp(1.0F, 3 * i)));
      memory.emplace_back(device(), in.back().values);
      work.items.emplace_back(memory.back().data(), memory.back().data());
    }
    const DeviceArray<float> scratch = make_scratch(device(), shape, kCount, NsAlgorithm::kGram);
    work.scratch = scratch.data();
    run_once(device(), std::move(work));
    for (int i = 0; i < kCount; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const HostMatrix alone = orthogonalized(device(), in[at], options);
      // The last product, cuBLAS's, may add up in another order: in 16 bits that flips last places.
      EXPECT_LT(relative_error(as_reference({shape, memory[at].read()}), as_reference(alone)), 0x1p-7) << i;
    }
  }
}

TEST_P(DeviceConformance, GramInMediumEndsInBf16NumbersBeforeScaling) {
  if (!device().capabilities().gram) GTEST_SKIP() << "no gram";
  for (const int steps : {1, 2, 5}) {
    const NsOptions options = by_gram(ns_options("quintic", steps, kMedium));
    for (const Shape shape : {Shape{24, 40}, Shape{7, 33}})
      for (const float value : orthogonalized(device(), random_matrix(shape, 35), options).values)
        ASSERT_EQ(value, static_cast<float>(reference::nearest_bf16(value))) << steps;
  }
}

TEST_P(DeviceConformance, GramOfZerosIsZerosAndOfNaNIsNaN) {
  if (!device().capabilities().gram) GTEST_SKIP() << "no gram";
  for (const MatmulPrecision precision : {kHighest, kMedium}) {
    const NsOptions options = by_gram(ns_options("quintic", 5, precision));
    for (const Shape shape : {Shape{8, 17}, Shape{16, 24}}) {
      for (const float value : orthogonalized(device(), constant_matrix(shape, 0.0F), options).values)
        ASSERT_EQ(value, 0.0F);
      HostMatrix bad = random_matrix(shape, 36);
      bad.values[100] = std::numeric_limits<float>::infinity();
      for (const float value : orthogonalized(device(), bad, options).values) ASSERT_TRUE(std::isnan(value));
    }
  }
}

TEST_P(DeviceConformance, GramInHighestIsThePolynomial) {
  if (!device().capabilities().gram) GTEST_SKIP() << "no gram";
  for (const CoefficientSet& set : coefficient_sets()) {
    const int steps = set.name == "simple" ? 5 : static_cast<int>(set.entries.size());
    const NsOptions options = by_gram(ns_options(set.name, steps, kHighest));
    for (const Shape shape : kGramShapes) {
      const double by = error_of(device(), random_matrix(shape, 32), options);
      // Slopes of some hundreds to some thousands (cans), and in the Gram matrix their squares.
      EXPECT_LT(by, shape.rows == shape.cols ? 5e-4 : 5e-5)
          << set.name << " " << shape.rows << " x " << shape.cols;
    }
  }
}

}  // namespace
}  // namespace muonbench
