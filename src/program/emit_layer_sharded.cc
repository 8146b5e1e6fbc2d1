// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"
#include "src/program/emitter.h"
#include "src/program/emitters.h"
#include "src/program/layer_sharded_routes.h"
#include "src/program/tiles.h"

namespace muonbench {
namespace {

/// Emits one param group's ops along its routes.
class LayerShardedGroup {
 public:
  LayerShardedGroup(Emitter& emitter, const ParamGroup& group, int queue)
      : emitter_(emitter),
        group_(group),
        queue_(queue),
        domain_(emitter.inputs().grid.domain(group.family)),
        routes_(emitter, group) {}

  void emit() {
    momentum();
    replicated();
    forward_stage1();
    forward_stage2();
    newton_schulz();
    reverse_stage2();
    reverse_stage1();
    update();
  }

 private:
  [[nodiscard]] const ParamShardSpec& spec(const Routed& routed) const { return emitter_.spec(routed.param); }

  void momentum() {
    MomentumOp op{group_.rule, {}};
    Elements total;
    for (const ParamIndex p : routes_.replicated()) total += emitter_.spec(p).shard_elements();
    const BufferId inputs = routes_.replicated().empty()
                                ? BufferId{}
                                : emitter_.builder().add_transient(text("{}.replicated", group_.label), total,
                                                                   DType::kFp32, MemoryUse::kNsScratch);
    Elements offset;
    for (const ParamIndex p : routes_.replicated()) {
      replicated_regions_.push_back(Region{inputs, offset, emitter_.spec(p).shard_elements()});
      op.items.push_back(emitter_.momentum_item(p, replicated_regions_.back()));
      offset += emitter_.spec(p).shard_elements();
    }
    for (const Routed& routed : routes_.routed())
      op.items.push_back(emitter_.momentum_item(routed.param, routed.ns_input));
    emitter_.builder().add(Phase::kMomentum, queue_, std::move(op));
  }

  /// Each copy is already whole, so a home would only add a broadcast.
  void replicated() {
    if (routes_.replicated().empty()) return;
    std::vector<Emitter::Matrix> matrices;
    UpdateOp op{group_.rule.lr, {}};
    for (std::size_t i = 0; i < routes_.replicated().size(); ++i) {
      matrices.push_back(emitter_.full_matrix(routes_.replicated()[i], replicated_regions_[i]));
      op.items.push_back(emitter_.update_item(routes_.replicated()[i], replicated_regions_[i]));
    }
    emitter_.newton_schulz(matrices, emitter_.inputs().ns_batch_size, Phase::kNsReplicated, queue_);
    emitter_.builder().add(Phase::kUpdate, queue_, std::move(op));
  }

  void all_to_all(Phase phase, const Exchange& exchange, Direction direction) {
    const ShardExchange& layout = exchange.layout;
    switch (direction) {
      case Direction::kAssemble:
        emitter_.builder().add(phase, queue_,
                               AllToAllOp{exchange.group, exchange.send, exchange.receive,
                                          layout.shard_side(), layout.home_side()});
        break;
      case Direction::kTakeApart:
        emitter_.builder().add(phase, queue_,
                               AllToAllOp{exchange.group, exchange.send_back, exchange.receive_back,
                                          layout.home_side(), layout.shard_side()});
        break;
    }
  }

  void copy(Phase phase, std::vector<Tile> tiles) {
    if (!tiles.empty()) emitter_.builder().add(phase, queue_, CopyOp{std::move(tiles)});
  }

  /// Strips the pads on the way: under tp_dim 0 the TP-local matrices are stacked next, and zero rows would
  /// end up inside.
  void forward_stage1() {
    if (!routes_.stage1()) return;
    all_to_all(Phase::kStage1Forward, *routes_.stage1(), Direction::kAssemble);
    std::vector<Tile> tiles;
    for (const std::size_t n : routes_.delivered()) {
      const Region matrix =
          routes_.routed()[n].tp_local_in ? *routes_.routed()[n].tp_local_in : *routes_.routed()[n].full;
      for (int g = 0; g < domain_.gtp_remat; ++g)
        add_gtp_tile(tiles, spec(routes_.routed()[n]), GtpRank(g),
                     routes_.stage1()->in(static_cast<int>(n), GroupRank(g)), matrix, Direction::kAssemble);
    }
    copy(Phase::kStage1Forward, std::move(tiles));
  }

  void forward_stage2() {
    std::vector<Tile> tiles;
    for (const Exchange& exchange : routes_.stage2()) {
      all_to_all(Phase::kStage2Forward, exchange, Direction::kAssemble);
      for (const int k : exchange.layout.homed_here()) {
        const Routed& routed = routes_.routed()[exchange.matrices[static_cast<std::size_t>(k)]];
        for (int t = 0; t < domain_.tp; ++t)
          add_tp_tile(tiles, spec(routed), TpRank(t), exchange.in(k, GroupRank(t)), *routed.full,
                      Direction::kAssemble);
      }
    }
    copy(Phase::kStage2Forward, std::move(tiles));
  }

  /// TP-complete matrices go in batches of their own: all TP peers of a column must batch them alike,
  /// whatever TP-sharded matrices each has besides, or batching would let TP replicas drift apart.
  void newton_schulz() {
    std::vector<Emitter::Matrix> tp_sharded, tp_complete;
    for (const Routed& routed : routes_.routed()) {
      if (!routed.full) continue;
      (routed.tp_local_in ? tp_sharded : tp_complete)
          .push_back(emitter_.full_matrix(routed.param, *routed.full));
    }
    const int batch_size = emitter_.inputs().ns_batch_size;
    emitter_.newton_schulz(tp_sharded, batch_size, Phase::kNs, queue_);
    emitter_.newton_schulz(tp_complete, batch_size, Phase::kNs, queue_);
  }

  void reverse_stage2() {
    std::vector<Tile> tiles;
    for (const Exchange& exchange : routes_.stage2()) {
      for (const int k : exchange.layout.homed_here()) {
        const Routed& routed = routes_.routed()[exchange.matrices[static_cast<std::size_t>(k)]];
        for (int t = 0; t < domain_.tp; ++t)
          add_tp_tile(tiles, spec(routed), TpRank(t), exchange.out_back(k, GroupRank(t)), *routed.full,
                      Direction::kTakeApart);
      }
    }
    copy(Phase::kStage2Reverse, std::move(tiles));
    for (const Exchange& exchange : routes_.stage2())
      all_to_all(Phase::kStage2Reverse, exchange, Direction::kTakeApart);
  }

  void reverse_stage1() {
    if (!routes_.stage1()) return;
    std::vector<Tile> tiles;
    ZeroFillOp pads;
    for (const std::size_t n : routes_.delivered()) {
      const Region matrix =
          routes_.routed()[n].tp_local_back ? *routes_.routed()[n].tp_local_back : *routes_.routed()[n].full;
      for (int g = 0; g < domain_.gtp_remat; ++g) {
        const Region shard = routes_.stage1()->out_back(static_cast<int>(n), GroupRank(g));
        add_gtp_tile(tiles, spec(routes_.routed()[n]), GtpRank(g), shard, matrix, Direction::kTakeApart);
        const Region pad = pad_region(spec(routes_.routed()[n]), GtpRank(g), shard);
        if (pad.size > Elements(0)) pads.regions.push_back(pad);
      }
    }
    copy(Phase::kStage1Reverse, std::move(tiles));
    if (!pads.regions.empty()) emitter_.builder().add(Phase::kStage1Reverse, queue_, std::move(pads));
    all_to_all(Phase::kStage1Reverse, *routes_.stage1(), Direction::kTakeApart);
  }

  void update() {
    if (routes_.routed().empty()) return;
    UpdateOp op{group_.rule.lr, {}};
    for (const Routed& routed : routes_.routed())
      op.items.push_back(emitter_.update_item(routed.param, routed.update));
    emitter_.builder().add(Phase::kUpdate, queue_, std::move(op));
  }

  Emitter& emitter_;
  const ParamGroup& group_;
  int queue_;
  DomainShape domain_;
  LayerShardedRoutes routes_;
  std::vector<Region> replicated_regions_;
};

}  // namespace

void emit_layer_sharded_group(Emitter& emitter, const ParamGroup& group, int queue) {
  if (!group.params.empty()) LayerShardedGroup(emitter, group, queue).emit();
}

void emit_layer_sharded(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  Emitter emitter(inputs, rank, builder);
  emitter.declare(StatePlacement::kWithShard, StatePlacement::kAdamByRows);
  for (std::size_t g = 0; g < inputs.groups.size(); ++g)
    emit_layer_sharded_group(emitter, emitter.held_part(inputs.groups[g]), inputs.queues.queue_of(g));
  emitter.adam(emitter.with_gradient(OptimizerKind::kAdam), StatePlacement::kAdamByRows, 0);
}

}  // namespace muonbench
