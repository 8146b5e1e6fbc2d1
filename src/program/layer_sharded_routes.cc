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
void part_tiles(Leg& leg, BufferId full_matrices) {
  const std::set<BufferId> travels = touched_by(leg.collectives);
  const auto follows = [&](const Tile& tile) {
    return (tile.src != full_matrices && tile.dst != full_matrices) || travels.contains(tile.src) ||
           travels.contains(tile.dst);
  };
  const auto others = std::stable_partition(leg.tiles.begin(), leg.tiles.end(), follows);
  std::move(others, leg.tiles.end(), std::back_inserter(leg.meanwhile));
  leg.tiles.erase(others, leg.tiles.end());
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
  const auto at_home = std::find_if(routes.routed.begin(), routes.routed.end(),
                                    [](const Routed& one) { return one.full.has_value(); });
  if (at_home == routes.routed.end()) return routes;
  for (std::vector<Leg>* legs : {&routes.forward, &routes.reverse})
    for (Leg& leg : *legs) part_tiles(leg, at_home->full->buffer);
  return routes;
}

void place_full_matrices(Emitter& emitter, Family family, std::vector<Routed>& routed,
                         const std::string& name) {
  const DomainPlace place = emitter.place(family);
  Elements total;
  for (Routed& one : routed) {
    if (!one.home.is_at(place)) continue;
    const Elements size = one.home.matrix_of(emitter.spec(one.param)).elements();
    one.full = Region{{}, total, size};
    total += size;
  }
  if (total == Elements(0)) return;
  const BufferId matrices = emitter.builder().add_transient(text("{}.ns_matrices", name), total, DType::kFp32,
                                                            MemoryUse::kNsScratch);
  for (Routed& one : routed)
    if (one.full) one.full->buffer = matrices;
}

}  // namespace muonbench
