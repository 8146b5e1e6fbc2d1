// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"
#include "src/program/emitter.h"
#include "src/program/emitters.h"
#include "src/program/tiles.h"

namespace muonbench {
namespace {

/// Emits one weight: momentum, up to two gathers, NS, the own part of the result, update.
class DuplicatedWeight {
 public:
  DuplicatedWeight(Emitter& emitter, const ParamGroup& group, ParamIndex param)
      : emitter_(emitter),
        group_(group),
        param_(param),
        spec_(emitter.spec(param)),
        place_(emitter.place(group.family)) {}

  void emit() {
    const Region shard = buffer("ns_input", spec_.shard_elements(), MemoryUse::kExchange);
    emitter_.builder().add(Phase::kMomentum, 0,
                           MomentumOp{group_.rule, {emitter_.momentum_item(param_, shard)}});
    const Region tp_local = spec_.gtp_sharded ? gather_gtp_remat(shard) : shard;
    const Region full = spec_.tp_dim ? gather_tp(tp_local) : tp_local;
    const Phase phase = spec_.sharding() == ParamSharding::kReplicated ? Phase::kNsReplicated : Phase::kNs;
    // One weight at a time: nothing to batch.
    emitter_.newton_schulz({emitter_.full_matrix(param_, full)}, 1, phase, 0);
    const Region tp_part = spec_.tp_dim ? take_tp(full) : full;
    const Region update = spec_.gtp_sharded ? take_gtp_remat(tp_part) : tp_part;
    emitter_.builder().add(Phase::kUpdate, 0,
                           UpdateOp{group_.rule.lr, {emitter_.update_item(param_, update)}});
  }

 private:
  [[nodiscard]] Region buffer(const char* what, Elements size, MemoryUse use) {
    return emitter_.transient(text("{}.{}", emitter_.name(param_), what), size, DType::kFp32, use);
  }

  [[nodiscard]] Region all_gather(AxisSet::Axis axis, Region block, const char* what) {
    return emitter_.gather_blocks({group_.family, AxisSet{axis}}, block,
                                  text("{}.{}", emitter_.name(param_), what), 0);
  }

  [[nodiscard]] Region gather_gtp_remat(Region shard) {
    const Region gathered = all_gather(AxisSet::kGtpRemat, shard, "gathered_gtp_remat");
    // Shards in order are the TP-local matrix, pads at its end: stripping is reading less.
    return Emitter::part(gathered, Elements(0), spec_.tp_local_shape().elements());
  }

  [[nodiscard]] Region gather_tp(Region tp_local) {
    const Region gathered = all_gather(AxisSet::kTp, tp_local, "gathered_tp");
    if (spec_.tp_dim == 0) return gathered;  // row blocks in order are the full matrix
    const Region full = buffer("ns_matrix", spec_.full_shape.elements(), MemoryUse::kNsScratch);
    CopyOp copy;
    for (int t = 0; t < spec_.domain.tp; ++t)
      add_tp_tile(copy.tiles, spec_, TpRank(t), Emitter::part(gathered, tp_local.size * t, tp_local.size),
                  full, Direction::kAssemble);
    emitter_.builder().add(Phase::kGather, 0, std::move(copy));
    return full;
  }

  [[nodiscard]] Region take_tp(Region full) {
    const Elements size = spec_.tp_local_shape().elements();
    if (spec_.tp_dim == 0) return Emitter::part(full, size * place_.t.value(), size);
    const Region part = buffer("tp_part", size, MemoryUse::kNsScratch);
    CopyOp copy;
    add_tp_tile(copy.tiles, spec_, place_.t, part, full, Direction::kTakeApart);
    emitter_.builder().add(Phase::kUpdate, 0, std::move(copy));
    return part;
  }

  /// Own rows and, where the shard has them, zero pads.
  [[nodiscard]] Region take_gtp_remat(Region tp_part) {
    const ShardExtent extent = spec_.extent(place_);
    const Shape shard = spec_.shard_shape();
    if (extent.pad_rows == 0)
      return Emitter::part(tp_part, Elements(place_.g.value() * shard.rows * shard.cols), shard.elements());
    const Region update = buffer("update", shard.elements(), MemoryUse::kNsScratch);
    CopyOp copy;
    add_gtp_tile(copy.tiles, spec_, place_.g, update, tp_part, Direction::kTakeApart);
    if (!copy.tiles.empty()) emitter_.builder().add(Phase::kUpdate, 0, std::move(copy));
    emitter_.builder().add(Phase::kUpdate, 0, ZeroFillOp{{pad_region(spec_, place_.g, update)}});
    return update;
  }

  Emitter& emitter_;
  const ParamGroup& group_;
  ParamIndex param_;
  const ParamShardSpec& spec_;
  DomainPlace place_;
};

}  // namespace

void emit_duplicated_weight(Emitter& emitter, const ParamGroup& group, ParamIndex param) {
  DuplicatedWeight(emitter, group, param).emit();
}

void emit_duplicated(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  emit_muon_mode(inputs, rank, builder, [](Emitter& emitter, const ParamGroup& held, std::size_t) {
    for (const ParamIndex p : held.params) emit_duplicated_weight(emitter, held, p);
  });
}

}  // namespace muonbench
