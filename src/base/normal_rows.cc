// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/normal_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "src/base/normal.h"

namespace muonbench {

/// Centre and tails in two passes: the first has no branch, and tails are one element in seven.
void fill_normal_row(std::uint64_t stream, std::int64_t row, std::int64_t first_col, double scale,
                     std::span<float> out) {
  constexpr std::size_t kBlock = 256;
  const std::uint64_t key = normal::row_key(stream, row);
  const auto square_root = [](double x) { return std::sqrt(x); };
  std::array<std::uint64_t, kBlock> uniform{};
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, out.size() - begin);
    const std::int64_t first = first_col + static_cast<std::int64_t>(begin);
    for (std::size_t i = 0; i < count; ++i) {
      uniform[i] = normal::scaled_uniform(normal::element_bits(key, first + static_cast<std::int64_t>(i)));
      out[begin + i] = static_cast<float>(normal::central_quantile(normal::off_centre(uniform[i])) * scale);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (!normal::is_central(normal::off_centre(uniform[i])))
        out[begin + i] = static_cast<float>(normal::tail_quantile(uniform[i], square_root) * scale);
  }
}

}  // namespace muonbench
