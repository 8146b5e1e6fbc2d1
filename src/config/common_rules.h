// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "src/config/key_rule.h"

/// Rules that several rows of the key tables share.
namespace muonbench {

inline constexpr double kFp32Max = std::numeric_limits<float>::max();
inline constexpr double kFp32Tiny = std::numeric_limits<float>::min();
inline constexpr std::uint64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint64_t kMostRanks = 1U << 20U;
inline constexpr std::uint64_t kMostSteps = 1'000'000'000;

[[nodiscard]] inline Rule integer(std::int64_t min, std::uint64_t max) { return IntegerRule{min, max}; }
[[nodiscard]] inline Rule size() { return integer(1, kInt64Max); }
[[nodiscard]] inline Rule ranks() { return integer(1, kMostRanks); }
[[nodiscard]] inline Rule fraction() { return NumberRule{0, 1, Interval::kOpenAbove}; }
[[nodiscard]] inline Rule non_negative() { return NumberRule{0, kFp32Max}; }
[[nodiscard]] inline Rule any_number() { return NumberRule{-kFp32Max, kFp32Max}; }
[[nodiscard]] inline Rule any_double() {
  constexpr double kMax = std::numeric_limits<double>::max();
  return NumberRule{-kMax, kMax, Interval::kClosed, Precision::kDouble};
}

/// Of a key with a reader of its own.
template <class T>
[[nodiscard]] Field own(T&) {
  return std::monostate{};
}

}  // namespace muonbench
