// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/layer_sharded_routes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "src/base/text.h"

namespace muonbench {
namespace {

std::set<BufferId> touched_by(const std::vector<Work>& works) {
  std::set<BufferId> touched;
  for (const Work& work : works) {
    const Access access = access_of(work);
    touched.insert(access.reads.begin(), access.reads.end());
    touched.insert(access.writes.begin(), access.writes.end());
  }
  return touched;
}

/// Own blocks that go on to a further stage, or come from it, are left among the others: meanwhile the
/// buffers of both stages would have to live side by side.
void part_tiles(Leg& leg, const std::set<BufferId>& full_matrices) {
  const std::set<BufferId> travels = touched_by(leg.collectives);
  const auto follows = [&](const Tile& tile) {
    return (!full_matrices.contains(tile.src) && !full_matrices.contains(tile.dst)) ||
           travels.contains(tile.src) || travels.contains(tile.dst);
  };
  const auto others = std::stable_partition(leg.tiles.begin(), leg.tiles.end(), follows);
  std::move(others, leg.tiles.end(), std::back_inserter(leg.meanwhile));
  leg.tiles.erase(others, leg.tiles.end());
}

/// Of those whose NS is spread like `spread`.
void place_matrices(Emitter& emitter, Family family, NsSpread spread, std::vector<Routed>& routed,
                    const std::string& buffer_name) {
  const DomainPlace place = emitter.place(family);
  std::vector<Routed*> here;
  Elements total;
  for (Routed& one : routed) {
    if (one.home.spread != spread || !one.home.is_at(place)) continue;
    const Elements size = one.home.matrix_of(emitter.spec(one.param)).elements();
    one.full = Region{{}, total, size};
    total += size;
    here.push_back(&one);
  }
  if (total == Elements(0)) return;
  const BufferId matrices =
      emitter.builder().add_transient(buffer_name, total, DType::kFp32, MemoryUse::kNsScratch);
  for (Routed* one : here) one->full->buffer = matrices;
}

LayerShardedRoutes plan(Emitter& emitter, Family family, std::vector<Routed> routed,
                        const std::string& name) {
  switch (emitter.inputs().travel.exchange) {
    case ExchangeWay::kTwoStage: return plan_two_stages(emitter, family, std::move(routed), name);
    case ExchangeWay::kFused: return plan_fused(emitter, family, std::move(routed), name);
  }
  return {};
}

}  // namespace

LayerShardedRoutes plan_routes(Emitter& emitter, Family family, const std::vector<ParamIndex>& params,
                               const std::string& name) {
  std::vector<Routed> routed;
  routed.reserve(params.size());
  for (const ParamIndex p : params) routed.push_back({p, emitter.inputs().homes[p.at()].value(), {}, {}, {}});
  LayerShardedRoutes routes = plan(emitter, family, std::move(routed), name);
  std::set<BufferId> matrices;
  for (const Routed& one : routes.routed)
    if (one.full) matrices.insert(one.full->buffer);
  for (std::vector<Leg>* legs : {&routes.forward, &routes.reverse})
    for (Leg& leg : *legs) part_tiles(leg, matrices);
  return routes;
}

void place_full_matrices(Emitter& emitter, Family family, std::vector<Routed>& routed,
                         const std::string& name) {
  place_matrices(emitter, family, NsSpread::kNone, routed, text("{}.ns_matrices", name));
  // Their NS may be on another queue, which must not wait for that of the others.
  place_matrices(emitter, family, NsSpread::kColumn, routed, text("{}.ns_spread_matrices", name));
}

}  // namespace muonbench
