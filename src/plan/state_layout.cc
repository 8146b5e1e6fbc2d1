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

StateRows state_rows(const ParamShardSpec& spec, StatePlacement placement, Family family,
                     const RankGrid& grid, WorldRank rank) {
  const ShardExtent extent = spec.extent(grid.coordinates(family, rank).place);
  const GroupKey equal_rows = grid.canonical({family, spec.replicated_axes().with(AxisSet::kDp)});
  const GroupRank me = grid.index_in_group(equal_rows, rank);
  const GroupKey alone{family, AxisSet{}};
  switch (placement) {
    case StatePlacement::kWithShard: return {Range{0, spec.shard_shape().rows}, alone, me.value() == 0};
    case StatePlacement::kAdamReplicated: return {Range{0, extent.rows.count}, alone, me.value() == 0};
    case StatePlacement::kAdamByRows:
      return {deal_rows(extent.rows.count, grid.group_size(equal_rows), me), equal_rows, true};
  }
  return {};
}

}  // namespace muonbench
