// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace muonbench {

/// Items of equal `key_of` in batches of at most `most`: keys in order of first appearance, items of one key
/// in list order.
template <class Item, class KeyOf>
[[nodiscard]] std::vector<std::vector<Item>> batches(const std::vector<Item>& items, int most, KeyOf key_of) {
  std::vector<std::vector<Item>> buckets;
  std::map<decltype(key_of(items.front())), std::size_t> bucket_of;
  for (const Item& item : items) {
    const auto [bucket, is_new] = bucket_of.try_emplace(key_of(item), buckets.size());
    if (is_new) buckets.emplace_back();
    buckets[bucket->second].push_back(item);
  }
  std::vector<std::vector<Item>> found;
  for (std::vector<Item>& bucket : buckets) {
    for (std::size_t n = 0; n < bucket.size(); ++n) {
      if (n % static_cast<std::size_t>(most) == 0) found.emplace_back();
      found.back().push_back(std::move(bucket[n]));
    }
  }
  return found;
}

}  // namespace muonbench
