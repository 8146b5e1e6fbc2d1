// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "src/base/check.h"
#include "src/base/hash.h"

namespace muonbench {
namespace {

constexpr double kWeightDeviation = 0.02;
constexpr std::uint64_t kWeightStream = 1;
constexpr std::uint64_t kGradientStream = 2;
constexpr double kTwoToMinus54 = 0x1p-54;
constexpr std::uint64_t kTwoTo53 = std::uint64_t{1} << 53U;
constexpr std::uint64_t kTwoTo54 = std::uint64_t{1} << 54U;
constexpr double kCentre = 0.425;

/// 2^54 * u for u = (k + 1/2) / 2^53: odd, so u is neither 0 nor 1/2 nor 1.
constexpr std::uint64_t scaled_uniform(std::uint64_t bits) { return 2 * (bits >> 11U) + 1; }

/// u - 1/2, exact: its numerator has at most 53 bits.
double off_centre(std::uint64_t n) {
  return static_cast<double>(static_cast<std::int64_t>(n) - static_cast<std::int64_t>(kTwoTo53)) *
         kTwoToMinus54;
}

/// -ln(x) for x in (0, 1), without libm, whose last bits differ between systems. x = m 2^e, m in [1/sqrt 2,
/// sqrt 2); ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: the series' first term left out is below
/// 1e-16 of the sum.
double minus_log(double x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr std::uint64_t kSqrtHalfBits = 0x3fe6a09e667f3bcdULL;
  constexpr std::uint64_t kExponentUnit = std::uint64_t{1} << 52U;
  const auto shifted = std::bit_cast<std::uint64_t>(x) - kSqrtHalfBits;
  const std::int64_t exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>((shifted & (kExponentUnit - 1)) + kSqrtHalfBits);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 1.0 / 19.0;
  for (const double divisor : {17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0})
    series = series * z + 1.0 / divisor;
  return -(static_cast<double>(exponent) * kLn2 + 2.0 * s * series);
}

/// PPND7 for |q| <= 0.425.
double central_quantile(double q) {
  const double r = 0.180625 - q * q;
  const double above = ((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179;
  const double below = ((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0;
  return q * above / below;
}

/// PPND7 elsewhere; n = 2^54 u.
double tail_quantile(std::uint64_t n) {
  const bool lower = n < kTwoTo53;
  const double tail = static_cast<double>(lower ? n : kTwoTo54 - n) * kTwoToMinus54;
  const double root = std::sqrt(minus_log(tail));
  double value = 0;
  if (root <= 5.0) {
    const double r = root - 1.6;
    const double above = ((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777;
    value = above / ((0.12021132975 * r + 0.73700164250) * r + 1.0);
  } else {
    const double r = root - 5.0;
    const double above = ((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150;
    value = above / ((0.012258202635 * r + 0.24197894225) * r + 1.0);
  }
  return lower ? -value : value;
}

/// What all elements of one row share. An element's bits are mix(row key, column), of which mix(row key) is
/// done here.
std::uint64_t row_key(std::uint64_t stream, const Parameter& param, std::uint64_t step, std::int64_t row) {
  return mix(mix(mix(stream, param.value_key), step), static_cast<std::uint64_t>(row));
}
std::uint64_t weight_row(std::uint64_t seed, const Parameter& param, std::int64_t row) {
  return mix(row_key(mix(kWeightStream, seed), param, 0, row));
}
std::uint64_t gradient_row(std::uint64_t seed, std::int64_t step, const Parameter& param, std::int64_t row) {
  return mix(row_key(mix(kGradientStream, seed), param, static_cast<std::uint64_t>(step), row));
}
std::uint64_t element_bits(std::uint64_t mixed_row, std::int64_t col) {
  return mix(mixed_row ^ static_cast<std::uint64_t>(col));
}

float scaled(double normal, double scale) { return static_cast<float>(normal * scale); }

/// Centre and tails in two passes: the first has no branch, and tails are one element in seven.
void fill_normal(std::uint64_t mixed_row, double scale, Range cols, std::span<float> out) {
  constexpr std::size_t kBlock = 256;
  std::array<std::uint64_t, kBlock> uniform{};
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - begin);
    const std::int64_t first = cols.begin + static_cast<std::int64_t>(begin);
    for (std::size_t i = 0; i < count; ++i) {
      uniform[i] = scaled_uniform(element_bits(mixed_row, first + static_cast<std::int64_t>(i)));
      out[begin + i] = scaled(central_quantile(off_centre(uniform[i])), scale);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (std::abs(off_centre(uniform[i])) > kCentre)
        out[begin + i] = scaled(tail_quantile(uniform[i]), scale);
  }
}

/// What a gradient is where it is not random.
float constant_gradient(const Parameter& param) {
  MUONBENCH_CHECK(param.has_gradient(), "parameter {}", param.name);
  return param.gradient == GradientFill::kOnes ? static_cast<float>(param.gradient_scale) : 0.0F;
}

}  // namespace

double standard_normal(std::uint64_t bits) {
  const std::uint64_t n = scaled_uniform(bits);
  const double q = off_centre(n);
  return std::abs(q) <= kCentre ? central_quantile(q) : tail_quantile(n);
}

float weight_value(std::uint64_t seed, const Parameter& param, std::int64_t row, std::int64_t col) {
  return scaled(standard_normal(element_bits(weight_row(seed, param, row), col)), kWeightDeviation);
}

float gradient_value(std::uint64_t seed, std::int64_t step, const Parameter& param, std::int64_t row,
                     std::int64_t col) {
  if (param.gradient != GradientFill::kRandom) return constant_gradient(param);
  return scaled(standard_normal(element_bits(gradient_row(seed, step, param, row), col)),
                param.gradient_scale);
}

void fill_weights(std::uint64_t seed, const Parameter& param, std::int64_t row, Range cols,
                  std::span<float> out) {
  MUONBENCH_CHECK(std::ssize(out) == cols.count, "out {}, columns {}", out.size(), cols.count);
  fill_normal(weight_row(seed, param, row), kWeightDeviation, cols, out);
}

void fill_gradients(std::uint64_t seed, std::int64_t step, const Parameter& param, std::int64_t row,
                    Range cols, std::span<float> out) {
  MUONBENCH_CHECK(std::ssize(out) == cols.count, "out {}, columns {}", out.size(), cols.count);
  if (param.gradient != GradientFill::kRandom) {
    std::fill(out.begin(), out.end(), constant_gradient(param));
    return;
  }
  fill_normal(gradient_row(seed, step, param, row), param.gradient_scale, cols, out);
}

}  // namespace muonbench
