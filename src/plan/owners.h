// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/config/words.h"
#include "src/model/parameter.h"
#include "src/plan/residence.h"
#include "src/shard/row_split.h"
#include "src/shard/shard_spec.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// One parameter to be dealt out over the replicas of its shards.
struct OwnedCandidate {
  Elements size;          ///< of the local shard, pads included: equal on all ranks that hold one
  std::int64_t cost = 0;  ///< of an update: NS cost of the full matrix, or an Adam parameter's elements
};

/// Each candidate's owner, a replica in 0..replicas-1, in list order; sorting is stable.
///   ping_pong    by size, ascending, to replicas visited forth and back (ping_pong.h)
///   lpt_numel    by size, descending, to the replica with the fewest elements, lowest on ties
///   lpt_ns_cost  by cost, descending, to the replica with the least cost among those where the elements stay
///                within 1.3 times an even share; where none is, to the one with the fewest elements
/// Source of the last: upstream's layout of data-parallel buffers, of which this is one bucket that holds all
/// parameters in model order, not in that of the backward pass, with nothing aligned or rounded up.
[[nodiscard]] std::vector<int> deal_to_owners(const std::vector<OwnedCandidate>& candidates, int replicas,
                                              OwnerPolicy policy);

/// What the owners of a model are decided from; lists by parameter.
struct OwnedModel {
  const ParamSet& params;
  const RankGrid& grid;
  const std::vector<ParamShardSpec>& specs;
  const std::vector<Residence>& residences;
  const std::vector<RowSplit>& splits;
};

/// Per parameter the dp index (an expert's on the expert grid) of its owner; none where Adam's state is dealt
/// out by rows over all replicas. Dense parameters and experts, pipeline stages and ep indices are dealt out
/// apart, each from replica 0 on. A parameter without gradient is owned too, at no cost.
[[nodiscard]] std::vector<std::optional<int>> assign_owners(const OwnedModel& model, OwnerPolicy policy,
                                                            LayerWiseAdam adam);

}  // namespace muonbench
