// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "src/base/hash.h"

/// Standard normal numbers from random bits, by integers and IEEE double + - * / sqrt alone: equal bits on
/// every processor and on a GPU, as long as nothing is contracted to an fma. Device code may call all of
/// this.
namespace muonbench::normal {

inline constexpr double kTwoToMinus54 = 0x1p-54;
inline constexpr std::uint64_t kTwoTo53 = std::uint64_t{1} << 53U;
inline constexpr std::uint64_t kTwoTo54 = std::uint64_t{1} << 54U;

/// What the elements of one row of a stream share, and the 64 bits of its element at column `col`.
[[nodiscard]] constexpr std::uint64_t row_key(std::uint64_t stream, std::int64_t row) {
  return mix(mix(stream, static_cast<std::uint64_t>(row)));
}
[[nodiscard]] constexpr std::uint64_t element_bits(std::uint64_t row_key, std::int64_t col) {
  return mix(row_key ^ static_cast<std::uint64_t>(col));
}

/// 2^54 * u for u = (k + 1/2) / 2^53, k the upper 53 of `bits`: odd, so u is neither 0 nor 1/2 nor 1.
[[nodiscard]] constexpr std::uint64_t scaled_uniform(std::uint64_t bits) { return 2 * (bits >> 11U) + 1; }

/// u - 1/2, exact: its numerator has at most 53 bits.
[[nodiscard]] constexpr double off_centre(std::uint64_t n) {
  return static_cast<double>(static_cast<std::int64_t>(n) - static_cast<std::int64_t>(kTwoTo53)) *
         kTwoToMinus54;
}

/// Where the quantile is a rational function of u: 85 % of all u.
[[nodiscard]] constexpr bool is_central(double off_centre) {
  return off_centre <= 0.425 && off_centre >= -0.425;
}

/// -ln(x) for x in (0, 1), without libm, whose last bits differ between systems. x = m 2^e, m in [1/sqrt 2,
/// sqrt 2); ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: the series' first term left out is below
/// 1e-16 of the sum.
[[nodiscard]] constexpr double minus_log(double x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr std::uint64_t kSqrtHalfBits = 0x3fe6a09e667f3bcdULL;
  constexpr std::uint64_t kExponentUnit = std::uint64_t{1} << 52U;
  const auto shifted = std::bit_cast<std::uint64_t>(x) - kSqrtHalfBits;
  const std::int64_t exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>((shifted & (kExponentUnit - 1)) + kSqrtHalfBits);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 1.0 / 19.0;
  series = series * z + 1.0 / 17.0;
  series = series * z + 1.0 / 15.0;
  series = series * z + 1.0 / 13.0;
  series = series * z + 1.0 / 11.0;
  series = series * z + 1.0 / 9.0;
  series = series * z + 1.0 / 7.0;
  series = series * z + 1.0 / 5.0;
  series = series * z + 1.0 / 3.0;
  series = series * z + 1.0;
  return -(static_cast<double>(exponent) * kLn2 + 2.0 * s * series);
}

/// AS 241's PPND7 (M. Wichura 1988), relative error below 2e-7, for a central q = u - 1/2.
[[nodiscard]] constexpr double central_quantile(double q) {
  const double r = 0.180625 - q * q;
  const double above = ((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179;
  const double below = ((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0;
  return q * above / below;
}

/// PPND7 elsewhere; n = 2^54 u. `sqrt` rounds as IEEE 754 says.
template <class Sqrt>
[[nodiscard]] constexpr double tail_quantile(std::uint64_t n, Sqrt sqrt) {
  const bool lower = n < kTwoTo53;
  const double tail = static_cast<double>(lower ? n : kTwoTo54 - n) * kTwoToMinus54;
  const double root = sqrt(minus_log(tail));
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

/// Symmetric: ~bits gives the negative; |value| <= 8.3.
template <class Sqrt>
[[nodiscard]] constexpr double from_bits(std::uint64_t bits, Sqrt sqrt) {
  const std::uint64_t n = scaled_uniform(bits);
  const double q = off_centre(n);
  return is_central(q) ? central_quantile(q) : tail_quantile(n, sqrt);
}

}  // namespace muonbench::normal
