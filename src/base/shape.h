// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "src/base/strong.h"

namespace muonbench {

/// Rows x cols of a row-major matrix. A 1-D parameter of n elements is (n, 1).
struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  [[nodiscard]] constexpr Elements elements() const { return Elements(rows * cols); }
  [[nodiscard]] constexpr std::int64_t min_dim() const { return std::min(rows, cols); }
  [[nodiscard]] constexpr std::int64_t max_dim() const { return std::max(rows, cols); }
  friend constexpr auto operator<=>(const Shape&, const Shape&) = default;
};

/// Half-open interval of rows, columns or elements: begin, begin + 1, ..., begin + count - 1.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;

  [[nodiscard]] constexpr std::int64_t end() const { return begin + count; }
  [[nodiscard]] constexpr bool empty() const { return count == 0; }
  friend constexpr auto operator<=>(const Range&, const Range&) = default;
};

}  // namespace muonbench
