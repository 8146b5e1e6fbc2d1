// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/shard/shard_spec.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Who keeps a parameter's optimizer state.
enum class StatePlacement {
  kWithShard,       ///< Muon: master and momentum beside the shard, pads included
  kAdamByRows,      ///< a shard's true rows dealt out over the ranks that hold the same rows
  kAdamReplicated,  ///< every true row that a rank holds
};

/// The rows of its shard for which one rank keeps state, and the group among which equal rows are dealt out.
struct StateRows {
  Range rows;      ///< of the shard, not of the full matrix; pads only under kWithShard
  GroupKey group;  ///< ranks that hold the same rows; axes empty: this rank alone
  /// True if no other rank that keeps the same rows comes before this one: it counts them for the whole
  /// model.
  bool counts = true;
};

/// Whole rows, the first ranks ceil(rows/n) each, in order of group rank.
[[nodiscard]] Range deal_rows(std::int64_t rows, int ranks, GroupRank me);

[[nodiscard]] StateRows state_rows(const ParamShardSpec& spec, StatePlacement placement, Family family,
                                   const RankGrid& grid, WorldRank rank);

}  // namespace muonbench
