// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "src/shard/shard_spec.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Who keeps a parameter's optimizer state.
enum class StatePlacement {
  kWithShard,         ///< Muon: master and momentum beside the shard, pads included
  kAdamByRows,        ///< a shard's true rows dealt out over the ranks that hold the same rows
  kAdamReplicated,    ///< every true row that a rank holds
  kWithOwnersShard,   ///< kWithShard in one replica, the owner; nothing in the others
  kAdamByOwnersRows,  ///< kAdamByRows among the ranks of one replica, the owner
};

/// Muon state, which lies beside the shard; otherwise Adam's, of true rows alone.
[[nodiscard]] constexpr bool is_with_shard(StatePlacement placement) {
  switch (placement) {
    case StatePlacement::kWithShard:
    case StatePlacement::kWithOwnersShard: return true;
    case StatePlacement::kAdamByRows:
    case StatePlacement::kAdamReplicated:
    case StatePlacement::kAdamByOwnersRows: return false;
  }
  return false;
}

/// Consecutive ranks of a group.
struct GroupSpan {
  int first = 0, count = 1;
  [[nodiscard]] constexpr int end() const { return first + count; }
};

/// The rows of its shard for which one rank keeps state, and the group among which equal rows are dealt out.
struct StateRows {
  Range rows;      ///< of the shard, not of the full matrix; pads only beside the shard
  GroupKey group;  ///< ranks that hold the same rows; axes empty: this rank alone
  GroupSpan span;  ///< those of them that the true rows are dealt out over
  /// True if no other rank that keeps the same rows comes before this one: it counts them for the whole
  /// model.
  bool counts = true;
};

/// Whole rows, the first ranks ceil(rows/n) each, in order of group rank.
[[nodiscard]] Range deal_rows(std::int64_t rows, int ranks, GroupRank me);

/// Whole rows, dealt out over the span's ranks alone.
[[nodiscard]] Range deal_rows(std::int64_t rows, GroupSpan span, GroupRank me);

/// `owner`: the replica that a placement in one replica means, a dp index of the family's grid.
[[nodiscard]] StateRows state_rows(const ParamShardSpec& spec, StatePlacement placement, Family family,
                                   const RankGrid& grid, WorldRank rank, int owner = 0);

}  // namespace muonbench
