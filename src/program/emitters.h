// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/plan/distribution.h"
#include "src/program/emitter.h"
#include "src/program/modes.h"

/// One emitter per mode; modes.cc lists them.
namespace muonbench {

/// A mode that keeps Muon's state beside the shards and Adam's by rows: `emit_group(emitter, held, g)` for
/// the part of each group g that this rank holds, which may be none, then Adam.
template <class EmitGroup>
void emit_muon_mode(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder, EmitGroup emit_group) {
  Emitter emitter(inputs, rank, builder);
  emitter.declare(StatePlacement::kWithShard, StatePlacement::kAdamByRows);
  for (std::size_t g = 0; g < inputs.groups.size(); ++g)
    emit_group(emitter, emitter.held_part(inputs.groups[g]), g);
  emitter.adam(emitter.with_gradient(OptimizerKind::kAdam), StatePlacement::kAdamByRows, 0);
}

/// Each weight has one NS home; all_to_all exchanges bring its shards there and the update back.
void emit_layer_sharded(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

/// Whole parameters belong to replicas, their owners: each has state of what it owns alone, updates that as
/// layer_sharded does, and hands the weights on to the others.
void emit_layer_wise(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

/// Every rank gathers every weight and repeats the same NS, one weight after the other.
void emit_duplicated(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

/// Ranks run NS on the rows, or columns, of each weight that they have, and add up norms and Gram matrices.
void emit_distributed(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

/// The cheaper of distributed and duplicated, weight by weight (distribution.h).
void emit_auto(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

/// A weight, or weights of one group, as those modes have them.
void emit_duplicated_weight(Emitter& emitter, const ParamGroup& group, ParamIndex param);
void emit_distributed_weights(Emitter& emitter, const ParamGroup& group,
                              const std::vector<ParamIndex>& params, DistributionRule rule, int queue);

/// Every rank runs NS on its own shards as if they were whole matrices, and exchanges nothing.
void emit_blockwise(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

/// Adam on every parameter, state dealt out by rows over the ranks that hold the same rows.
void emit_adam_dim0(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

/// Adam on every parameter, state for every row that a rank holds.
void emit_adam_replicated(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

}  // namespace muonbench
