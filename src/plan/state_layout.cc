// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/state_layout.h"

#include <algorithm>

namespace muonbench {

Range deal_rows(std::int64_t rows, int ranks, GroupRank me) {
  const std::int64_t each = (rows + ranks - 1) / ranks;
  const std::int64_t begin = std::min(rows, each * me.value());
  return Range{begin, std::min(each, rows - begin)};
}

Range deal_rows(std::int64_t rows, GroupSpan span, GroupRank me) {
  if (me.value() < span.first || me.value() >= span.end()) return Range{0, 0};
  return deal_rows(rows, span.count, GroupRank(me.value() - span.first));
}

StateRows state_rows(const ParamShardSpec& spec, StatePlacement placement, Family family,
                     const RankGrid& grid, WorldRank rank, int owner) {
  const Coordinates at = grid.coordinates(family, rank);
  const ShardExtent extent = spec.extent(at.place);
  const GroupKey equal_rows = grid.canonical({family, spec.replicated_axes().with(AxisSet::kDp)});
  const GroupRank me = grid.index_in_group(equal_rows, at);
  const GroupKey alone{family, AxisSet{}};
  switch (placement) {
    case StatePlacement::kWithShard:
      return {Range{0, spec.shard_shape().rows}, alone, GroupSpan{}, me.value() == 0};
    case StatePlacement::kAdamReplicated:
      return {Range{0, extent.rows.count}, alone, GroupSpan{}, me.value() == 0};
    case StatePlacement::kAdamByRows: {
      const GroupSpan all{0, grid.group_size(equal_rows)};
      return {deal_rows(extent.rows.count, all, me), equal_rows, all, true};
    }
    case StatePlacement::kWithOwnersShard: {
      const GroupKey replicas = grid.canonical({family, {AxisSet::kDp}});
      const GroupRank in_replica = grid.index_in_group({family, spec.replicated_axes()}, at);
      return {Range{0, at.dp == owner ? spec.shard_shape().rows : 0}, replicas, GroupSpan{owner, 1},
              in_replica.value() == 0};
    }
    case StatePlacement::kAdamByOwnersRows: {
      // dp is the slowest axis of a group, so that a replica's ranks stand together.
      const int in_replica = grid.group_size({family, spec.replicated_axes()});
      const GroupSpan of_owner{owner * in_replica, in_replica};
      return {deal_rows(extent.rows.count, of_owner, me), equal_rows, of_owner, true};
    }
  }
  return {};
}

}  // namespace muonbench
