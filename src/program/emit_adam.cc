// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/emitter.h"
#include "src/program/emitters.h"

namespace muonbench {
namespace {

void emit_adam(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder, StatePlacement placement) {
  Emitter emitter(inputs, rank, builder);
  emitter.declare(placement, placement);
  emitter.adam(emitter.with_gradient(), placement, 0);
}

}  // namespace

void emit_adam_dim0(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  emit_adam(inputs, rank, builder, StatePlacement::kAdamByRows);
}

void emit_adam_replicated(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  emit_adam(inputs, rank, builder, StatePlacement::kAdamReplicated);
}

}  // namespace muonbench
