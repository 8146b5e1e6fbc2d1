// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/base/text.h"
#include "src/program/batches.h"
#include "src/program/distributed_ns.h"
#include "src/program/emitter.h"
#include "src/program/emitters.h"
#include "src/program/tiles.h"

namespace muonbench {
namespace {

/// Emits weights of one shape and layout: momentum, a gather where both axes split them, NS of what this rank
/// has of them, the own part of the result, update. All members of the domain batch alike, whatever their
/// shards hold.
class DistributedBatch {
 public:
  DistributedBatch(Emitter& emitter, const ParamGroup& group, std::vector<ParamIndex> batch,
                   DistributionRule rule, int queue)
      : emitter_(emitter),
        group_(group),
        queue_(queue),
        batch_(std::move(batch)),
        spec_(emitter.spec(batch_.front())),
        split_(emitter.inputs().splits.at(batch_.front().at())),
        place_(emitter.place(group.family)),
        distribution_(rule(spec_)) {}

  void emit() {
    momentum();
    if (distribution_) {
      if (distribution_->gathered)
        gather();
      else
        take_shards();
      newton_schulz();
      if (distribution_->gathered) take_own();
    } else {
      std::vector<Emitter::Matrix> matrices;
      for (std::size_t i = 0; i < batch_.size(); ++i)
        matrices.push_back(emitter_.full_matrix(batch_[i], shards_[i]));
      emitter_.newton_schulz(matrices, emitter_.inputs().ns_batch_size, Phase::kNsReplicated, queue_);
    }
    update();
  }

 private:
  [[nodiscard]] Region buffer(const char* what, Elements size, MemoryUse use) {
    return emitter_.transient(text("{}.{}", emitter_.name(batch_.front()), what), size, DType::kFp32, use);
  }
  void add(Phase phase, Work work) { emitter_.builder().add(phase, queue_, std::move(work)); }
  /// One region for each weight, one after the other.
  [[nodiscard]] std::vector<Region> in_a_row(Region whole, Elements each) const {
    return Emitter::in_a_row(whole, batch_.size(), each);
  }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(batch_.size()); }

  /// Zero gradients make zeros of the pads, and nothing writes into them before the update.
  void momentum() {
    const Elements size = spec_.shard_elements();
    const MemoryUse use =
        distribution_ && distribution_->gathered ? MemoryUse::kExchange : MemoryUse::kNsScratch;
    shards_ = in_a_row(buffer("ns_input", size * count(), use), size);
    MomentumOp op{group_.rule, {}};
    for (std::size_t i = 0; i < batch_.size(); ++i)
      op.items.push_back(emitter_.momentum_item(batch_[i], shards_[i]));
    add(Phase::kMomentum, std::move(op));
  }

  void take_shards() {
    held_ = held_part(spec_, *distribution_, place_);
    for (const Region& shard : shards_)
      matrices_.push_back(Emitter::part(shard, Elements(0), held_.shape().elements()));
  }

  /// The matrices are put together without their pads: over gtp_remat the TP-local ones, over tp the rows of
  /// this rank's g, with tp_dim 0 in another order than in the full matrix, which NS does not mind.
  void gather() {
    const AxisSet::Axis axis = *distribution_->gathered;
    const int ranks = ranks_of(axis, spec_.domain);
    const Region own = Emitter::part(shards_.front(), Elements(0), spec_.shard_elements() * count());
    const Region gathered = emitter_.gather_blocks(
        {group_.family, AxisSet{axis}}, own, text("{}.gathered", emitter_.name(batch_.front())), queue_);
    held_ = held_part(spec_, *distribution_, place_);
    const Elements each = held_.shape().elements();
    matrices_ = in_a_row(buffer("ns_matrix", each * count(), MemoryUse::kNsScratch), each);
    CopyOp copy;
    for (int r = 0; r < ranks; ++r) {
      const auto blocks = in_a_row(Emitter::part(gathered, own.size * r, own.size), spec_.shard_elements());
      for (std::size_t i = 0; i < batch_.size(); ++i)
        add_tile(copy.tiles, r, blocks[i], matrices_[i], Direction::kAssemble);
    }
    if (!copy.tiles.empty()) add(Phase::kGather, std::move(copy));
  }

  /// Group rank r's part of a matrix that was gathered.
  void add_tile(std::vector<Tile>& tiles, int r, Region shard, Region matrix, Direction direction) const {
    if (distribution_->gathered == AxisSet::kGtpRemat) {
      add_gtp_tile(tiles, spec_, GtpRank(r), shard, matrix, direction);
      return;
    }
    // The rows of one g, as a weight that tp alone splits.
    ParamShardSpec of_g = spec_;
    of_g.gtp_sharded = false;
    of_g.pad_length = 0;
    of_g.full_shape.rows = spec_.extent(place_).rows.count * (spec_.tp_dim == 0 ? spec_.domain.tp : 1);
    add_tp_tile(tiles, of_g, TpRank(r), shard, matrix, direction);
  }

  void newton_schulz() {
    const GroupKey group{group_.family, AxisSet{distribution_->axis}};
    DistributedNs(emitter_, {group, distribution_->side, queue_})
        .run(matrices_, held_, split_, spec_.full_shape);
  }

  void take_own() {
    const int own = distribution_->gathered == AxisSet::kTp ? place_.t.value() : place_.g.value();
    CopyOp copy;
    for (std::size_t i = 0; i < batch_.size(); ++i)
      add_tile(copy.tiles, own, shards_[i], matrices_[i], Direction::kTakeApart);
    if (!copy.tiles.empty()) add(Phase::kUpdate, std::move(copy));
  }

  void update() {
    UpdateOp op{group_.rule.lr, {}};
    for (std::size_t i = 0; i < batch_.size(); ++i)
      op.items.push_back(emitter_.update_item(batch_[i], shards_[i]));
    add(Phase::kUpdate, std::move(op));
  }

  Emitter& emitter_;
  const ParamGroup& group_;
  int queue_;
  std::vector<ParamIndex> batch_;
  const ParamShardSpec& spec_;  ///< of each weight
  const RowSplit& split_;       ///< likewise
  DomainPlace place_;
  std::optional<Distribution> distribution_;
  std::vector<Region> shards_;    ///< NS inputs, then updates
  std::vector<Region> matrices_;  ///< what this rank runs NS on
  HeldPart held_;                 ///< in each of them
};

}  // namespace

void emit_distributed_weights(Emitter& emitter, const ParamGroup& group,
                              const std::vector<ParamIndex>& params, DistributionRule rule, int queue) {
  const auto kind = [&](ParamIndex p) { return distributed_kind(emitter, p); };
  for (std::vector<ParamIndex>& batch : batches(params, emitter.inputs().ns_batch_size, kind))
    DistributedBatch(emitter, group, std::move(batch), rule, queue).emit();
}

void emit_distributed(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  emit_muon_mode(inputs, rank, builder, [](Emitter& emitter, const ParamGroup& held, std::size_t) {
    emit_distributed_weights(emitter, held, held.params, distribution_of, 0);
  });
}

void emit_auto(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  emit_muon_mode(inputs, rank, builder, [&](Emitter& emitter, const ParamGroup& held, std::size_t) {
    std::vector<ParamIndex> distributed;
    for (const ParamIndex p : held.params) {
      switch (cheaper_way(emitter.spec(p), inputs.splits.at(p.at()), held.family, inputs.ns)) {
        case RunsAs::kDuplicated: emit_duplicated_weight(emitter, held, p); break;
        case RunsAs::kDistributed: distributed.push_back(p); break;
      }
    }
    emit_distributed_weights(emitter, held, distributed, distribution_of, 0);
  });
}

}  // namespace muonbench
