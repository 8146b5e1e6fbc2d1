// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "tests/conformance/ns_runner.h"

namespace muonbench {
namespace {

using reference::Arithmetic;
using reference::relative_error;

constexpr MatmulPrecision kMedium = MatmulPrecision::kMedium;

TEST_P(DeviceConformance, NsInMediumRoundsEachOperandOnceAndToNearest) {
  for (const NsCoefficients step : {NsCoefficients{2.0, -1.5, 0.5}, NsCoefficients{1.5, -0.625, 0.0}}) {
    for (const NsOptions& options : supported(device(), ns_options(step, kMedium))) {
      for (const Shape shape : kExactNsShapes) {
        const HostMatrix in = random_signs(shape, 14);
        EXPECT_EQ(as_reference(orthogonalized(device(), in, options)).values,
                  expected(in, options, Arithmetic::kBf16).values)
            << shape.rows << " x " << shape.cols << " c " << step.c;
      }
    }
  }
}

TEST_P(DeviceConformance, NsInMediumFollowsTheRoundingsOfTwoSteps) {
  // A sum in fp32 lands now and then on the other side of a bf16 tie than the exact one, and its element
  // differs by a unit of 2^-8. Two steps in, that is a few elements in a thousand. Leaving out one of the
  // roundings costs 3.9e-3 and more on each of these shapes. (Each further step turns a difference d into
  // about sqrt(d * 2^-8): five could tell nothing.)
  constexpr double kFewFlips = 1.5e-3;
  for (const NsOptions& options : supported(device(), ns_options("quintic", 2, kMedium))) {
    for (const Shape shape : {Shape{24, 40}, Shape{40, 24}, Shape{16, 16}, Shape{33, 7}}) {
      const HostMatrix in = random_matrix(shape, 15);
      const HostMatrix out = orthogonalized(device(), in, options);
      EXPECT_LT(relative_error(as_reference(out), expected(in, options, Arithmetic::kBf16)), kFewFlips)
          << shape.rows << " x " << shape.cols;
    }
  }
}

TEST_P(DeviceConformance, NsInMediumIsAsCloseToTheExactPolynomialAsItsOracle) {
  for (const NsOptions& options : supported(device(), ns_options("quintic", 5, kMedium))) {
    for (const Shape shape : kNsShapes) {
      const HostMatrix in = random_matrix(shape, 15);
      const reference::Matrix exact = expected(in, options, Arithmetic::kExact);
      const double oracle = relative_error(expected(in, options, Arithmetic::kBf16), exact);
      // Half as much again, since roundings fall differently; 2^-8 for shapes on which the oracle is exact by
      // luck.
      EXPECT_LT(relative_error(as_reference(orthogonalized(device(), in, options)), exact),
                1.5 * oracle + 0x1p-8)
          << shape.rows << " x " << shape.cols;
    }
  }
}

TEST_P(DeviceConformance, NsInHighLiesBetweenHighestAndMedium) {
  if (!device().capabilities().tf32) GTEST_SKIP() << "no TF32";
  // Sides that no kernel pads: TF32 wants rows of 16 bytes.
  for (const Shape shape : {Shape{64, 160}, Shape{160, 64}, Shape{128, 128}}) {
    const HostMatrix in = random_matrix(shape, 18);
    const reference::Matrix exact =
        expected(in, ns_options("quintic", 5, MatmulPrecision::kHighest), Arithmetic::kExact);
    const auto error = [&](MatmulPrecision precision) {
      return relative_error(as_reference(orthogonalized(device(), in, ns_options("quintic", 5, precision))),
                            exact);
    };
    // TF32 keeps 10 bits of an operand, bf16 7, fp32 23: a factor of eight, and of thousands.
    EXPECT_LT(error(MatmulPrecision::kHigh), error(kMedium) / 2) << shape.rows << " x " << shape.cols;
    EXPECT_GT(error(MatmulPrecision::kHigh), 10 * error(MatmulPrecision::kHighest))
        << shape.rows << " x " << shape.cols;
  }
}

TEST_P(DeviceConformance, NsInMediumLeavesBf16NumbersForReceiversToScaleToTheSameBits) {
  NsOptions options = for_device(device(), ns_options("quintic", 5, kMedium));
  options.scale_mode = ScaleMode::kSpectral;
  options.extra_scale_factor = 0.7;
  for (const Shape shape : {Shape{24, 40}, Shape{33, 7}, Shape{16, 16}}) {
    const HostMatrix in = random_matrix(shape, 17);
    const DeviceArray<float> source(device(), in.values), unscaled(device(), in.values);
    const DeviceArray<float> scaled(device(), in.values), scratch = make_scratch(device(), shape, 1);
    run_once(device(), BoundNewtonSchulz{shape, {{source.data(), scaled.data()}}, scratch.data(), options});
    run_once(device(),
             BoundNewtonSchulz{
                 shape, {{source.data(), unscaled.data()}}, scratch.data(), options, NsScaling::kByReceiver});
    const float factor = std::sqrt(static_cast<float>(shape.max_dim()));
    const std::vector<float> before = unscaled.read(), after = scaled.read();
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(before[i], static_cast<float>(reference::nearest_bf16(before[i])));
      const float once = before[i] * factor;
      ASSERT_EQ(after[i], once * 0.7F);
    }
  }
}

TEST_P(DeviceConformance, NsInMediumGivesBf16NumbersBeforeScaling) {
  const HostMatrix out =
      orthogonalized(device(), random_matrix({24, 40}, 16), ns_options("quintic", 5, kMedium));
  for (const float value : out.values) ASSERT_EQ(value, static_cast<float>(reference::nearest_bf16(value)));
}

}  // namespace
}  // namespace muonbench
