// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "src/base/check.h"
#include "src/program/emitter.h"
#include "src/program/emitters.h"
#include "src/program/layer_sharded_group.h"

namespace muonbench {
namespace {

/// What one replica owns is a model of its own, with homes of its own.
StepInputs with_homes_of_owners(const StepInputs& inputs) {
  StepInputs own = inputs;
  own.homes = inputs.layer_wise.homes;
  own.travel.wave_of = inputs.layer_wise.wave_of;
  return own;
}

ParamGroup owned_part(const Emitter& emitter, const ParamGroup& group) {
  ParamGroup owned = emitter.held_part(group);
  std::erase_if(owned.params, [&](ParamIndex p) { return !emitter.is_owned(p); });
  return owned;
}

}  // namespace

void emit_layer_wise(const StepInputs& all, WorldRank rank, ProgramBuilder& builder) {
  MUONBENCH_CHECK(all.layer_wise.owners.size() == all.params.params.size(), "{} owners of {} parameters",
                  all.layer_wise.owners.size(), all.params.size());
  const StepInputs inputs = with_homes_of_owners(all);
  Emitter emitter(inputs, rank, builder);
  emitter.declare(StatePlacement::kWithOwnersShard, StatePlacement::kAdamByOwnersRows);
  for (std::size_t g = 0; g < inputs.groups.size(); ++g)
    emit_layer_sharded_group(emitter, owned_part(emitter, inputs.groups[g]),
                             {inputs.queues.queue_of(g), inputs.queues.ns_queue_of(g)});
  emitter.adam_update(emitter.with_gradient(OptimizerKind::kAdam), StatePlacement::kAdamByOwnersRows, 0);
  emitter.param_gathers(emitter.with_gradient(), StatePlacement::kWithOwnersShard,
                        StatePlacement::kAdamByOwnersRows, 0);
}

}  // namespace muonbench
