// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/emitter.h"
#include "src/program/emitters.h"
#include "src/program/layer_sharded_group.h"

namespace muonbench {

void emit_layer_sharded(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  emit_muon_mode(inputs, rank, builder, [&](Emitter& emitter, const ParamGroup& held, std::size_t g) {
    emit_layer_sharded_group(emitter, held, {inputs.queues.queue_of(g), inputs.queues.ns_queue_of(g)});
  });
}

}  // namespace muonbench
