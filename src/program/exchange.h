// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/plan/shard_exchange.h"
#include "src/program/emitter.h"

namespace muonbench {

/// One of the two ways of an exchange: its layout, and buffers for both of its sides. Shards that are at home
/// where they are held lie in a buffer of their own, which their writers and readers share and no all_to_all
/// touches.
struct ExchangeDirection {
  ShardExchange layout;
  BufferId shard_side, home_side, own;

  /// This rank's shard of an item; of one homed here, where piece() has it for this rank.
  [[nodiscard]] Region shard(int item) const {
    return at(layout.is_homed_here(item) ? own : shard_side, layout.shard_of(item));
  }
  /// A peer's shard of an item homed here.
  [[nodiscard]] Region piece(int item, GroupRank peer) const {
    return at(layout.is_me(peer) ? own : home_side, layout.piece_of(item, peer));
  }
  [[nodiscard]] Region own_block() const { return {own, Elements(0), layout.own_block_size()}; }

 private:
  [[nodiscard]] static Region at(BufferId buffer, Segment s) { return Region{buffer, s.offset, s.size}; }
};

/// One all_to_all pair over a process group: the way home and the way back, each with its own buffers.
struct Exchange {
  GroupKey group;
  ExchangeDirection forward, reverse;
  std::vector<std::size_t> matrices;  ///< list item -> index of what the item is a part of

  [[nodiscard]] std::size_t matrix(int item) const { return matrices[static_cast<std::size_t>(item)]; }
  /// This rank's shard on its way home, and back again.
  [[nodiscard]] Region out(int item) const { return forward.shard(item); }
  [[nodiscard]] Region in_back(int item) const { return reverse.shard(item); }
  /// A peer's shard at home, before it and after.
  [[nodiscard]] Region in(int item, GroupRank peer) const { return forward.piece(item, peer); }
  [[nodiscard]] Region out_back(int item, GroupRank peer) const { return reverse.piece(item, peer); }

  [[nodiscard]] AllToAllOp there() const {
    const ShardExchange& layout = forward.layout;
    return {group,
            forward.shard_side,
            forward.home_side,
            layout.shard_side(),
            layout.home_side(),
            forward.own_block()};
  }
  [[nodiscard]] AllToAllOp back() const {
    const ShardExchange& layout = reverse.layout;
    return {group,
            reverse.home_side,
            reverse.shard_side,
            layout.home_side(),
            layout.shard_side(),
            reverse.own_block()};
  }
};

/// What travels in an exchange, item by item.
struct ExchangeList {
  std::vector<ExchangeItem> forward, reverse;
  std::vector<std::size_t> matrices;

  [[nodiscard]] bool empty() const { return matrices.empty(); }
  /// A shard of every rank in `senders` goes home, and one comes back to every rank in `receivers`.
  void add(std::size_t matrix, GroupRank home, Elements shard, PeerSet senders = {}, PeerSet receivers = {}) {
    forward.push_back({home, shard, senders});
    reverse.push_back({home, shard, receivers});
    matrices.push_back(matrix);
  }
};

/// An exchange over the axes of `group`, whose buffers are named `name`; fp32 on the way home, and as
/// inputs().travel says on the way back.
[[nodiscard]] Exchange make_exchange(Emitter& emitter, GroupKey group, ExchangeList list,
                                     const std::string& name);

}  // namespace muonbench
