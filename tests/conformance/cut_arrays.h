// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Lengths and cuts of arrays that elementwise passes are tried on, and bf16 by another way than the
/// devices'.
namespace muonbench {

// Long enough to leave a remainder after any vector or block width.
inline constexpr std::int64_t kLength = 5003;
// One piece; and pieces that begin anywhere, an empty one among them.
inline const std::vector<std::int64_t> kWhole = {0};
inline const std::vector<std::int64_t> kPieces = {0, 1, 17, 17, 1024, 1041, 3333, 5002};

struct Cut {
  std::int64_t begin, size;
};
inline std::vector<Cut> pieces(const std::vector<std::int64_t>& cuts) {
  std::vector<Cut> result;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    result.push_back({cuts[i], (i + 1 < cuts.size() ? cuts[i + 1] : kLength) - cuts[i]});
  return result;
}

inline std::vector<float> from_bf16(const std::vector<std::uint16_t>& narrow) {
  std::vector<float> values;
  for (const std::uint16_t value : narrow)
    values.push_back(std::bit_cast<float>(std::uint32_t{value} << 16U));
  return values;
}

// Nearest bf16 number, by comparing the two neighbours: another way than the one under test.
inline float nearest_bf16(float value) {
  const float below = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000U);
  const float above = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) & 0xffff0000U) + 0x10000U);
  const double to_below = std::fabs(double{value} - below);
  const double to_above = std::fabs(double{value} - above);
  const bool below_is_even = (std::bit_cast<std::uint32_t>(below) >> 16U) % 2 == 0;
  return to_below < to_above || (to_below == to_above && below_is_even) ? below : above;
}

inline std::vector<float> nearest_bf16(std::vector<float> values) {
  for (float& value : values) value = nearest_bf16(value);
  return values;
}

}  // namespace muonbench
