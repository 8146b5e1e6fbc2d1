// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "src/program/emitter.h"

namespace muonbench {

// One collective for each group of replicas and kind of reduction, like the buckets of a data-parallel
// trainer, over the gradients where they lie.
void Emitter::reduce_gradients(StatePlacement muon, StatePlacement adam) {
  std::map<GroupKey, AllReduceOp> everywhere;
  std::map<GroupKey, ReduceScatterOp> by_rows;
  for (const ParamIndex p : with_gradient()) {
    const GroupKey replicas = inputs_.grid.canonical({family_of(inputs_.params[p]), {AxisSet::kDp}});
    if (replicas.axes.empty() || spec(p).shard_elements() == Elements(0)) continue;
    const StatePlacement placement = inputs_.params[p].optimizer == OptimizerKind::kMuon ? muon : adam;
    switch (placement) {
      case StatePlacement::kWithShard:
      case StatePlacement::kAdamReplicated: everywhere[replicas].regions.push_back(gradient(p)); break;
      case StatePlacement::kAdamByRows:
      case StatePlacement::kWithOwnersShard:
      case StatePlacement::kAdamByOwnersRows: {
        ReduceScatterItem item = rows_by_replica(p, replicas, placement);
        const auto is_empty = [](const Segment& segment) { return segment.size == Elements(0); };
        if (std::all_of(item.segments.begin(), item.segments.end(), is_empty))
          break;  // nobody's rows, or pads
        by_rows[replicas].items.push_back(std::move(item));
        break;
      }
    }
  }
  for (auto& [group, op] : everywhere) {
    op.group = group;
    op.ranks = inputs_.grid.group_size(group);
    builder_.add_before_step(Phase::kGradReduce, std::move(op));
  }
  for (auto& [group, op] : by_rows) {
    op.group = group;
    builder_.add_before_step(Phase::kGradReduce, std::move(op));
  }
}

ReduceScatterItem Emitter::rows_by_replica(ParamIndex p, GroupKey replicas, StatePlacement placement) {
  const std::int64_t cols = spec(p).shard_shape().cols;
  ReduceScatterItem item{gradient(p).buffer, {}};
  const auto segment = [cols](Range rows) {
    return Segment{Elements(rows.begin * cols), Elements(rows.count * cols)};
  };
  if (const auto owner = owner_of(p); owner && placement != StatePlacement::kAdamByRows) {
    item.segments.resize(static_cast<std::size_t>(inputs_.grid.group_size(replicas)));
    Coordinates at = inputs_.grid.coordinates(replicas.family, rank_);
    at.dp = *owner;
    const WorldRank there = inputs_.grid.rank_at(replicas.family, at);
    item.segments.at(static_cast<std::size_t>(*owner)) = segment(kept_on(there, p, placement).rows);
    return item;
  }
  // Rows are dealt out among all that hold them. Where these are more than the replicas, the rows between
  // those of two replicas are kept, and summed, elsewhere.
  const GroupKey equal_rows = kept(p, StatePlacement::kAdamByRows).group;
  const GroupSpan holders{0, inputs_.grid.group_size(equal_rows)};
  const std::int64_t true_rows = spec(p).extent(place(replicas.family)).rows.count;
  item.segments.reserve(static_cast<std::size_t>(inputs_.grid.group_size(replicas)));
  for (const WorldRank member : inputs_.grid.members(replicas, rank_))
    item.segments.push_back(
        segment(deal_rows(true_rows, holders, inputs_.grid.index_in_group(equal_rows, member))));
  return item;
}

}  // namespace muonbench
