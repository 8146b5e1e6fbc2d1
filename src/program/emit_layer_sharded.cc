// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/emitter.h"
#include "src/program/emitters.h"
#include "src/program/layer_sharded_group.h"

namespace muonbench {

void emit_layer_sharded(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  Emitter emitter(inputs, rank, builder);
  emitter.declare(StatePlacement::kWithShard, StatePlacement::kAdamByRows);
  for (std::size_t g = 0; g < inputs.groups.size(); ++g)
    emit_layer_sharded_group(emitter, emitter.held_part(inputs.groups[g]),
                             {inputs.queues.queue_of(g), inputs.queues.ns_queue_of(g)});
  emitter.adam(emitter.with_gradient(OptimizerKind::kAdam), StatePlacement::kAdamByRows, 0);
}

}  // namespace muonbench
