// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/shard_exchange.h"

#include <algorithm>
#include <utility>

#include "src/base/check.h"

namespace muonbench {

Elements lay_out(std::vector<Segment>& segments) {
  Elements total;
  for (Segment& segment : segments) {
    segment.offset = total;
    total += segment.size;
  }
  return total;
}

ShardExchange::ShardExchange(std::vector<ExchangeItem> items, int group_size, GroupRank me)
    : items_(std::move(items)), me_(me), shard_offset_(items_.size()) {
  const auto size = static_cast<std::size_t>(group_size);
  std::vector<Elements> to_home(size), from_peer(size);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const ExchangeItem& item = items_[i];
    const int home = item.home.value();
    MUONBENCH_CHECK(home >= 0 && home < group_size, "item {}: home {} in a group of {}", i, home, group_size);
    if (item.peers.has(me)) {
      Elements& block = to_home[static_cast<std::size_t>(home)];
      shard_offset_[i] = block;  // within the home's block; the block's start on its side is added below
      block += item.shard;
    }
    if (item.home != me) continue;
    homed_here_.push_back(static_cast<int>(i));
    home_offset_.push_back(from_peer);
    for (std::size_t peer = 0; peer < size; ++peer)
      if (item.peers.has(GroupRank(static_cast<int>(peer)))) from_peer[peer] += item.shard;
  }

  const auto own = static_cast<std::size_t>(me.value());
  own_block_size_ = std::exchange(to_home[own], Elements(0));
  from_peer[own] = Elements(0);
  for (std::size_t peer = 0; peer < size; ++peer) {
    shard_side_.push_back({Elements(0), to_home[peer]});
    home_side_.push_back({Elements(0), from_peer[peer]});
  }
  shard_side_size_ = lay_out(shard_side_);
  home_side_size_ = lay_out(home_side_);
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].home != me)
      shard_offset_[i] += shard_side_[static_cast<std::size_t>(items_[i].home.value())].offset;
}

Segment ShardExchange::shard_of(int item) const {
  MUONBENCH_CHECK(has_peer(item, me_), "item {} has no shard here that travels", item);
  const auto i = static_cast<std::size_t>(item);
  return {shard_offset_[i], items_[i].shard};
}

Segment ShardExchange::piece_of(int item, GroupRank peer) const {
  const auto homed = std::lower_bound(homed_here_.begin(), homed_here_.end(), item);
  MUONBENCH_CHECK(homed != homed_here_.end() && *homed == item, "item {} is not at home here", item);
  MUONBENCH_CHECK(has_peer(item, peer), "item {}: no shard of rank {} travels", item, peer.value());
  const auto at = static_cast<std::size_t>(peer.value());
  const auto nth = static_cast<std::size_t>(homed - homed_here_.begin());
  const Elements block = is_me(peer) ? Elements(0) : home_side_.at(at).offset;
  return {block + home_offset_[nth].at(at), items_[static_cast<std::size_t>(item)].shard};
}

}  // namespace muonbench
