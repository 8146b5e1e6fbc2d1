// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/base/hash.h"

namespace muonbench {
namespace {

Parameter param(const std::string& name) {
  Parameter p;
  p.name = name;
  p.shape = {1000, 1000};
  p.value_key = Fingerprint().add(name).value();
  return p;
}

/// Random bits whose uniform number is the one nearest to u.
std::uint64_t bits_of(double u) { return static_cast<std::uint64_t>(u * 0x1p53) << 11U; }

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Largest distance between the samples' distribution and the standard normal's.
double kolmogorov_distance(std::vector<float> samples) {
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  double distance = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double cdf = normal_cdf(samples[i]);
    distance = std::max({distance, cdf - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - cdf});
  }
  return distance;
}

double correlation(const std::vector<float>& x, const std::vector<float>& y) {
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += static_cast<double>(x[i]) * y[i];
    xx += static_cast<double>(x[i]) * x[i];
    yy += static_cast<double>(y[i]) * y[i];
  }
  return xy / std::sqrt(xx * yy);
}

std::vector<float> gradients(std::uint64_t seed, std::int64_t step, const Parameter& p, Range rows,
                             Range cols) {
  std::vector<float> values;
  for (std::int64_t row = rows.begin; row < rows.end(); ++row)
    for (std::int64_t col = cols.begin; col < cols.end(); ++col)
      values.push_back(gradient_value(seed, step, p, row, col));
  return values;
}

TEST(StandardNormal, HitsTheQuantilesOfTheTables) {
  // Twelve digits each from an independent 16-digit implementation; PPND7 promises seven.
  const std::vector<std::pair<double, double>> quantiles = {{0.5 + 0x1p-20, 2.39050700630e-06},
                                                            {0.6, 0.253347103136},
                                                            {0.925, 1.43953147094},
                                                            {0.9251, 1.44023826753},
                                                            {0.975, 1.95996398454},
                                                            {0.999, 3.09023230617},
                                                            {1 - 1e-9, 5.99780701960}};
  for (const auto& [u, quantile] : quantiles) {
    EXPECT_NEAR(standard_normal(bits_of(u)), quantile, 3e-7 * quantile) << u;
    EXPECT_NEAR(standard_normal(bits_of(1 - u)), -quantile, 3e-7 * quantile) << u;
  }
  // The far tail, which has a formula of its own: u = 1e-12 is 9007 of 2^53 steps, so its quantile is sharp
  // to 1e-6.
  EXPECT_NEAR(standard_normal(bits_of(1e-12)), -7.03448382530, 2e-5);
}

TEST(StandardNormal, IsFiniteAtBothEndsAndOddAroundTheMiddle) {
  EXPECT_NEAR(standard_normal(0), -8.29236107581, 3e-6);
  EXPECT_EQ(standard_normal(~std::uint64_t{0}), -standard_normal(0));
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t bits = mix(i);
    EXPECT_EQ(standard_normal(~bits), -standard_normal(bits));
    EXPECT_NE(standard_normal(bits), 0.0);
  }
}

TEST(StandardNormal, RisesWithItsBitsAcrossTheJoints) {
  // Over a step of 2^-20 in u the quantile rises by more than the formula's error of 2e-7 times at most 8.3.
  double below = standard_normal(0);
  for (std::uint64_t i = 1; i < (1U << 20U); ++i) {
    const double value = standard_normal(i << 44U);
    ASSERT_GT(value, below) << i;
    below = value;
  }
}

TEST(StandardNormal, GivesTheseBitsOnEveryMachine) {
  // From a second implementation, in Python. A compiler, flag or processor that changes one bit breaks
  // equality between ranks of different machines.
  Fingerprint all;
  for (std::uint64_t i = 0; i < 100'000; ++i) all.add(std::bit_cast<std::uint64_t>(standard_normal(mix(i))));
  for (std::uint64_t i = 0; i < 54; ++i)
    all.add(std::bit_cast<std::uint64_t>(standard_normal(std::uint64_t{1} << i)));
  EXPECT_EQ(all.value(), 0x23e567ce10a47283U);
}

TEST(Values, AreNormalInEveryMoment) {
  const std::vector<float> x = gradients(1234, 3, param("w"), {0, 1000}, {0, 1000});
  double mean = 0;
  double square = 0;
  double cube = 0;
  double fourth = 0;
  for (const float value : x) {
    const double v = value;
    mean += v / 1e6;
    square += v * v / 1e6;
    cube += v * v * v / 1e6;
    fourth += v * v * v * v / 1e6;
  }
  // Five standard errors of 1e6 samples: sqrt(Var)/1000 with Var = 1, 2, 15, 96 of x, x^2, x^3, x^4.
  EXPECT_NEAR(mean, 0, 5 * std::sqrt(1.0) / 1000);
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0) / 1000);
  EXPECT_NEAR(cube, 0, 5 * std::sqrt(15.0) / 1000);
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0) / 1000);
}

TEST(Values, FollowTheNormalDistribution) {
  const Parameter w = param("w");
  // 1.95 / sqrt(n) is exceeded by one sample in a thousand; the samples are fixed, so the test passes always
  // or never.
  EXPECT_LT(kolmogorov_distance(gradients(1234, 0, w, {0, 1000}, {0, 1000})), 1.95 / 1000);
  EXPECT_LT(kolmogorov_distance(gradients(1234, 0, w, {0, 1'000'000}, {7, 1})), 1.95 / 1000)
      << "down one column";
  EXPECT_LT(kolmogorov_distance(gradients(1234, 0, w, {7, 1}, {0, 1'000'000})), 1.95 / 1000)
      << "along one row";
  std::vector<float> weights;
  for (std::int64_t col = 0; col < 1'000'000; ++col) weights.push_back(weight_value(1234, w, 3, col) / 0.02F);
  EXPECT_LT(kolmogorov_distance(weights), 1.95 / 1000);
}

TEST(Values, AreIndependentAcrossSeedStepParameterRowAndColumn) {
  const Parameter w = param("w");
  const std::vector<float> x = gradients(1234, 3, w, {0, 500}, {0, 500});
  const std::vector<std::vector<float>> others = {gradients(1235, 3, w, {0, 500}, {0, 500}),
                                                  gradients(1234, 4, w, {0, 500}, {0, 500}),
                                                  gradients(1234, 3, param("w.1"), {0, 500}, {0, 500}),
                                                  gradients(1234, 3, w, {1, 500}, {0, 500}),
                                                  gradients(1234, 3, w, {0, 500}, {1, 500}),
                                                  gradients(3, 1234, w, {0, 500}, {0, 500})};
  // Five standard errors of the correlation of 250,000 independent pairs, 1/sqrt(n) each.
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_LT(std::abs(correlation(x, others[i])), 5.0 / 500) << i;
  std::vector<float> weights;
  std::vector<float> transposed;
  for (std::int64_t row = 0; row < 500; ++row)
    for (std::int64_t col = 0; col < 500; ++col) {
      weights.push_back(weight_value(1234, w, row, col));
      transposed.push_back(gradient_value(1234, 0, w, col, row + 500));
    }
  EXPECT_LT(std::abs(correlation(gradients(1234, 0, w, {0, 500}, {0, 500}), weights)), 5.0 / 500);
  EXPECT_LT(std::abs(correlation(weights, transposed)), 5.0 / 500);
}

TEST(Values, OfWeightsHaveDeviationTwoHundredths) {
  const Parameter w = param("w");
  double square = 0;
  for (std::int64_t i = 0; i < 1'000'000; ++i) square += std::pow(weight_value(1, w, i, 0), 2) / 1e6;
  EXPECT_NEAR(square, 4e-4, 4e-4 * 5 * std::sqrt(2.0) / 1000) << "five standard errors of a variance";
}

TEST(Values, OfAGradientFollowItsFillAndScale) {
  Parameter p = param("w");
  p.gradient_scale = -2.5;
  const float scaled = gradient_value(1, 2, p, 3, 4);
  p.gradient_scale = 1;
  EXPECT_FLOAT_EQ(scaled, -2.5F * gradient_value(1, 2, p, 3, 4));
  p.gradient_scale = -2.5;
  p.gradient = GradientFill::kOnes;
  EXPECT_EQ(gradient_value(1, 2, p, 3, 4), -2.5F);
  p.gradient = GradientFill::kZeros;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(gradient_value(1, 2, p, 3, 4)), 0U) << "not a negative zero";
  p.gradient = GradientFill::kNone;
  EXPECT_THROW(static_cast<void>(gradient_value(1, 2, p, 3, 4)), RuntimeFailure);
}

TEST(FilledRows, EqualTheirElementsBitForBitAtAnyOffset) {
  Parameter p = param("w");
  p.gradient_scale = 0.1;
  for (const Range cols : {Range{0, 1000}, Range{13, 1}, Range{999, 256},
                           Range{(std::int64_t{1} << 40) + 5, 257}, Range{4, 0}}) {
    for (const GradientFill fill : {GradientFill::kRandom, GradientFill::kOnes, GradientFill::kZeros}) {
      p.gradient = fill;
      std::vector<float> weights(static_cast<std::size_t>(cols.count), 9.0F);
      std::vector<float> grads = weights;
      fill_weights(77, p, 41, cols, weights);
      fill_gradients(77, 5, p, 41, cols, grads);
      for (std::int64_t i = 0; i < cols.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(weights[at], weight_value(77, p, 41, cols.begin + i)) << i;
        ASSERT_EQ(grads[at], gradient_value(77, 5, p, 41, cols.begin + i)) << i;
      }
    }
  }
}

TEST(FilledRows, RefuseABufferOfAnotherLength) {
  std::vector<float> out(4);
  EXPECT_THROW(fill_weights(1, param("w"), 0, {0, 5}, out), RuntimeFailure);
  EXPECT_THROW(fill_gradients(1, 0, param("w"), 0, {0, 3}, out), RuntimeFailure);
}

}  // namespace
}  // namespace muonbench
