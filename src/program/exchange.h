// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/plan/shard_exchange.h"
#include "src/program/emitter.h"

namespace muonbench {

/// One all_to_all pair over a process group: the way home and the way back, each with its own buffers. Shards
/// that are at home where they are held lie in buffers of their own, which their writers and readers share
/// and no all_to_all touches.
struct Exchange {
  GroupKey group;
  ShardExchange forward, reverse;
  std::vector<std::size_t> matrices;  ///< list item -> index of what the item is a part of
  BufferId send, receive;             ///< forward: shard side out, home side in
  BufferId send_back, receive_back;   ///< reverse: home side out, shard side in
  BufferId own, own_back;             ///< own blocks of forward and reverse

  [[nodiscard]] std::size_t matrix(int item) const { return matrices[static_cast<std::size_t>(item)]; }
  /// This rank's shard on its way home, and back again; of an item homed here, where in() and out_back() have
  /// it for this rank.
  [[nodiscard]] Region out(int item) const {
    return at(forward.is_homed_here(item) ? own : send, forward.shard_of(item));
  }
  [[nodiscard]] Region in_back(int item) const {
    return at(reverse.is_homed_here(item) ? own_back : receive_back, reverse.shard_of(item));
  }
  /// A peer's shard at home, before it and after.
  [[nodiscard]] Region in(int item, GroupRank peer) const {
    return at(forward.is_me(peer) ? own : receive, forward.piece_of(item, peer));
  }
  [[nodiscard]] Region out_back(int item, GroupRank peer) const {
    return at(reverse.is_me(peer) ? own_back : send_back, reverse.piece_of(item, peer));
  }

  [[nodiscard]] AllToAllOp there() const {
    return {group,
            send,
            receive,
            forward.shard_side(),
            forward.home_side(),
            {own, Elements(0), forward.own_block_size()}};
  }
  [[nodiscard]] AllToAllOp back() const {
    return {group,
            send_back,
            receive_back,
            reverse.home_side(),
            reverse.shard_side(),
            {own_back, Elements(0), reverse.own_block_size()}};
  }
  [[nodiscard]] static Region at(BufferId buffer, Segment s) { return Region{buffer, s.offset, s.size}; }
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
