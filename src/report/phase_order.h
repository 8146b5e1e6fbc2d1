// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muonbench {

/// Phases are shown in the order of a step, not of the alphabet.
inline constexpr std::array<std::string_view, 13> kPhasesInOrder = {
    "momentum", "ns_replicated", "gather",         "stage1_forward", "stage2_forward",
    "ns",       "gram_reduce",   "stage2_reverse", "stage1_reverse", "update",
    "adam",     "param_gather",  "grad_reduce"};

/// The entries of `values` whose names stand in `order`, in that order, then the others by name.
template <class Value, std::size_t N>
[[nodiscard]] std::vector<std::pair<std::string, Value>> in_order(
    const std::map<std::string, Value>& values, const std::array<std::string_view, N>& order) {
  std::vector<std::pair<std::string, Value>> sorted(values.begin(), values.end());
  const auto place = [&order](const auto& entry) {
    return std::find(order.begin(), order.end(), entry.first);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&place](const auto& a, const auto& b) { return place(a) < place(b); });
  return sorted;
}

}  // namespace muonbench
