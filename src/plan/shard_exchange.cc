// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/shard_exchange.h"

#include <algorithm>

#include "src/base/check.h"

namespace muonbench {

ShardExchange::ShardExchange(std::vector<ExchangeItem> items, int group_size, GroupRank me)
    : items_(std::move(items)), shard_offset_(items_.size()), home_offset_(items_.size()) {
  std::vector<Elements> homed_at(static_cast<std::size_t>(group_size));
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const int home = items_[i].home.value();
    MUONBENCH_CHECK(home >= 0 && home < group_size, "item {}: home {} in a group of {}", i, home, group_size);
    Elements& block = homed_at[static_cast<std::size_t>(home)];
    shard_offset_[i] = block;  // within the home's block; the block's start is added below
    home_offset_[i] = block;
    block += items_[i].shard;
    if (items_[i].home == me) homed_here_.push_back(static_cast<int>(i));
  }

  const Elements mine = homed_at[static_cast<std::size_t>(me.value())];
  for (int peer = 0; peer < group_size; ++peer) {
    const Elements block = homed_at[static_cast<std::size_t>(peer)];
    shard_side_.push_back({shard_side_size_, block});
    shard_side_size_ += block;
    home_side_.push_back({home_side_size_, mine});
    home_side_size_ += mine;
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    shard_offset_[i] += shard_side_[static_cast<std::size_t>(items_[i].home.value())].offset;
  }
}

Segment ShardExchange::shard_of(int item) const {
  const auto i = static_cast<std::size_t>(item);
  return {shard_offset_.at(i), items_[i].shard};
}

Segment ShardExchange::piece_of(int item, GroupRank peer) const {
  MUONBENCH_CHECK(std::binary_search(homed_here_.begin(), homed_here_.end(), item),
                  "item {} is not at home here", item);
  const auto i = static_cast<std::size_t>(item);
  return {home_side_.at(static_cast<std::size_t>(peer.value())).offset + home_offset_[i], items_[i].shard};
}

}  // namespace muonbench
