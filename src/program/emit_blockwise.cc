// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/base/text.h"
#include "src/program/batches.h"
#include "src/program/emitter.h"
#include "src/program/emitters.h"

namespace muonbench {
namespace {

/// Emits one param group's shards, batch by batch: momentum, NS on the true rows, update.
class BlockwiseGroup {
 public:
  BlockwiseGroup(Emitter& emitter, const ParamGroup& group) : emitter_(emitter), group_(group) {}

  /// Replicated weights go in batches of their own: ranks that hold equal copies of them differ in the shapes
  /// of their shards, and must still batch them alike.
  void emit() {
    std::vector<ParamIndex> replicated, sharded;
    for (const ParamIndex p : group_.params)
      (emitter_.spec(p).sharding() == ParamSharding::kReplicated ? replicated : sharded).push_back(p);
    emit_batches(replicated, Phase::kNsReplicated);
    emit_batches(sharded, Phase::kNs);
  }

 private:
  void emit_batches(const std::vector<ParamIndex>& params, Phase phase) {
    const auto kind = [this](ParamIndex p) {
      const Emitter::Matrix matrix = emitter_.shard_matrix(p, {});
      return std::pair(matrix.shape, matrix.pieces);
    };
    for (const std::vector<ParamIndex>& batch : batches(params, emitter_.inputs().ns_batch_size, kind))
      emit_batch(batch, phase);
  }

  /// Zero gradients make zero NS inputs of the pads, which NS leaves alone.
  void emit_batch(const std::vector<ParamIndex>& batch, Phase phase) {
    MomentumOp momentum{group_.rule, {}};
    UpdateOp update{group_.rule.lr, {}};
    std::vector<Emitter::Matrix> matrices;
    Elements total;
    for (const ParamIndex p : batch) total += emitter_.spec(p).shard_elements();
    const BufferId buffer = emitter_.builder().add_transient(
        text("{}.ns_input", emitter_.name(batch.front())), total, DType::kFp32, MemoryUse::kNsScratch);
    Elements offset;
    for (const ParamIndex p : batch) {
      const Region shard{buffer, offset, emitter_.spec(p).shard_elements()};
      momentum.items.push_back(emitter_.momentum_item(p, shard));
      update.items.push_back(emitter_.update_item(p, shard));
      const Emitter::Matrix matrix = emitter_.shard_matrix(p, shard);
      if (matrix.shape.rows > 0) matrices.push_back(matrix);
      offset += shard.size;
    }
    emitter_.builder().add(Phase::kMomentum, 0, std::move(momentum));
    emitter_.newton_schulz(matrices, emitter_.inputs().ns_batch_size, phase, 0);
    emitter_.builder().add(Phase::kUpdate, 0, std::move(update));
  }

  Emitter& emitter_;
  const ParamGroup& group_;
};

}  // namespace

void emit_blockwise(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  emit_muon_mode(inputs, rank, builder, [](Emitter& emitter, const ParamGroup& held, std::size_t) {
    BlockwiseGroup(emitter, held).emit();
  });
}

}  // namespace muonbench
