// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/layer_sharded_routes.h"

#include <utility>

#include "src/base/text.h"

namespace muonbench {

LayerShardedRoutes plan_routes(Emitter& emitter, Family family, const std::vector<ParamIndex>& params,
                               const std::string& name) {
  std::vector<Routed> routed;
  routed.reserve(params.size());
  for (const ParamIndex p : params) routed.push_back({p, emitter.inputs().homes[p.at()].value(), {}, {}, {}});
  switch (emitter.inputs().travel.exchange) {
    case ExchangeWay::kTwoStage: return plan_two_stages(emitter, family, std::move(routed), name);
    case ExchangeWay::kFused: return plan_fused(emitter, family, std::move(routed), name);
  }
  return {};
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
