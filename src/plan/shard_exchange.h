// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "src/base/strong.h"

namespace muonbench {

/// A contiguous piece of a buffer that goes to, or comes from, one peer. Offset and size in elements.
struct Segment {
  Elements offset;
  Elements size;
  friend auto operator<=>(const Segment&, const Segment&) = default;
};

/// Puts segments one after the other, in order; returns their size together.
Elements lay_out(std::vector<Segment>& segments);

/// Ranks of a group: every `stride`-th from `first` on; all of them by default.
struct PeerSet {
  int first = 0;
  int stride = 1;
  [[nodiscard]] bool has(GroupRank rank) const {
    return rank.value() >= first && (rank.value() - first) % stride == 0;
  }
};

/// One matrix in an exchange: the group rank it is at home on, the size of a shard of it (all equal), and
/// the peers whose shards travel between them and the home.
struct ExchangeItem {
  GroupRank home;
  Elements shard;
  PeerSet peers = {};
};

/// Layout of one all_to_all between shards and homes, seen from one rank. It does for both directions, unless
/// other peers take part in the way back.
///
/// The shard side is this rank's shard of every item of which it is a peer, ordered by home, then by list
/// index: what forward sends and reverse receives. The home side is, per peer, that peer's shard of each item
/// homed here, by list index: what forward receives and reverse sends. Every pair of ranks agrees on sizes
/// because all build it from the same list.
///
/// Shards of items homed on the rank that holds them are on neither side. They are at home without moving: a
/// block of their own, by list index, which is the same in both directions.
///
///   three items homed on {1, 0, 1}, two ranks:
///   rank 0:  shard side [ item 0, item 2 ]  home side [ 1's item 1 ]              own [ item 1 ]
///   rank 1:  shard side [ item 1 ]          home side [ 0's item 0, 0's item 2 ]  own [ item 0, item 2 ]
class ShardExchange {
 public:
  ShardExchange(std::vector<ExchangeItem> items, int group_size, GroupRank me);

  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] Elements shard_side_size() const { return shard_side_size_; }
  [[nodiscard]] Elements home_side_size() const { return home_side_size_; }
  [[nodiscard]] Elements own_block_size() const { return own_block_size_; }
  /// One segment per peer, empty ones included, in peer order; this rank's is empty.
  [[nodiscard]] const std::vector<Segment>& shard_side() const { return shard_side_; }
  [[nodiscard]] const std::vector<Segment>& home_side() const { return home_side_; }
  /// Items homed on this rank, ascending.
  [[nodiscard]] const std::vector<int>& homed_here() const { return homed_here_; }
  /// Whether `rank` is a peer of an item.
  [[nodiscard]] bool has_peer(int item, GroupRank rank) const {
    return items_.at(static_cast<std::size_t>(item)).peers.has(rank);
  }
  [[nodiscard]] bool is_me(GroupRank rank) const { return rank == me_; }
  [[nodiscard]] bool is_homed_here(int item) const {
    return is_me(items_.at(static_cast<std::size_t>(item)).home);
  }
  /// Where this rank's shard of an item of which it is a peer lies: on the shard side, or in the own block if
  /// the item is homed here.
  [[nodiscard]] Segment shard_of(int item) const;
  /// Where `peer`'s shard of an item homed here lies: on the home side, or in the own block if `peer` is this
  /// rank.
  [[nodiscard]] Segment piece_of(int item, GroupRank peer) const;

 private:
  std::vector<ExchangeItem> items_;
  GroupRank me_;
  std::vector<Elements> shard_offset_;  // per item, on the shard side or in the own block
  std::vector<int> homed_here_;
  std::vector<std::vector<Elements>> home_offset_;  // per homed item and peer, within the peer's block
  std::vector<Segment> shard_side_, home_side_;
  Elements shard_side_size_, home_side_size_, own_block_size_;
};

}  // namespace muonbench
