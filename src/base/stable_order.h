// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace muonbench {

/// The indices 0 to size - 1 sorted by `before(a, b)` of two indices; equal ones stay in order.
template <class Before>
[[nodiscard]] std::vector<std::size_t> stable_order(std::size_t size, Before before) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace muonbench
