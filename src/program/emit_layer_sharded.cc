// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>

#include "src/base/text.h"
#include "src/plan/shard_exchange.h"
#include "src/program/emitter.h"
#include "src/program/emitters.h"
#include "src/program/tiles.h"

namespace muonbench {
namespace {

/// One all_to_all pair over one axis: the way home and the way back, each with its own buffers.
struct Exchange {
  GroupKey group;
  ShardExchange layout;
  std::vector<std::size_t> matrices;  ///< list item -> index in routed_
  BufferId send, receive;             ///< forward: shard side out, home side in
  BufferId send_back, receive_back;   ///< reverse: home side out, shard side in

  [[nodiscard]] Region out(int item) const { return at(send, layout.shard_of(item)); }
  [[nodiscard]] Region in(int item, GroupRank peer) const { return at(receive, layout.piece_of(item, peer)); }
  [[nodiscard]] Region out_back(int item, GroupRank peer) const {
    return at(send_back, layout.piece_of(item, peer));
  }
  [[nodiscard]] Region in_back(int item) const { return at(receive_back, layout.shard_of(item)); }
  [[nodiscard]] static Region at(BufferId buffer, Segment s) { return Region{buffer, s.offset, s.size}; }
};

/// One routed parameter as this rank sees it.
struct Routed {
  ParamIndex param;
  Home home;
  Region ns_input;  ///< where the momentum pass puts this rank's shard
  Region update;    ///< where the orthogonalised shard comes back
  std::optional<Region>
      tp_local_in;  ///< stage 1 brought the TP-local matrix here, and stage 2 takes it on from here
  std::optional<Region> tp_local_back;
  std::optional<Region> full;  ///< NS runs here
};

/// Emits one param group. Stage 1 exchanges over gtp_remat, stage 2 over tp, first matrices split along dim
/// 0, then those split along dim 1.
class LayerShardedGroup {
 public:
  LayerShardedGroup(Emitter& emitter, const ParamGroup& group, int queue)
      : emitter_(emitter),
        group_(group),
        queue_(queue),
        domain_(emitter.inputs().grid.domain(group.family)),
        place_(emitter.place(group.family)) {}

  void emit() {
    sort_params();
    plan_stage1();
    plan_stage2();
    plan_matrices();
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
  [[nodiscard]] bool has_stage1() const { return domain_.gtp_remat > 1 && !routed_.empty(); }

  void sort_params() {
    for (const ParamIndex p : group_.params) {
      if (const auto& home = emitter_.inputs().homes[p.at()])
        routed_.push_back(Routed{p, *home, {}, {}, {}, {}, {}});
      else
        replicated_.push_back(p);
    }
  }

  [[nodiscard]] Exchange make_exchange(AxisSet::Axis axis, std::vector<ExchangeItem> items,
                                       std::vector<std::size_t> matrices, const std::string& name) {
    const GroupKey group{group_.family, AxisSet{axis}};
    const int size = axis == AxisSet::kTp ? domain_.tp : domain_.gtp_remat;
    const GroupRank me(axis == AxisSet::kTp ? place_.t.value() : place_.g.value());
    Exchange exchange{group, ShardExchange(std::move(items), size, me), std::move(matrices), {}, {}, {}, {}};
    const auto buffer = [&](const char* what, Elements elements) {
      return emitter_.builder().add_transient(text("{}.{}.{}", group_.label, name, what), elements,
                                              DType::kFp32, MemoryUse::kExchange);
    };
    exchange.send = buffer("send", exchange.layout.shard_side_size());
    exchange.receive = buffer("receive", exchange.layout.home_side_size());
    exchange.send_back = buffer("send_back", exchange.layout.home_side_size());
    exchange.receive_back = buffer("receive_back", exchange.layout.shard_side_size());
    return exchange;
  }

  void plan_stage1() {
    if (!has_stage1()) {
      // No gtp_remat axis: every rank already holds the TP-local matrix of every routed parameter.
      for (std::size_t n = 0; n < routed_.size(); ++n) delivered_.push_back(n);
      return;
    }
    std::vector<ExchangeItem> items;
    std::vector<std::size_t> matrices;
    for (std::size_t n = 0; n < routed_.size(); ++n) {
      items.push_back({GroupRank(routed_[n].home.g.value()), spec(routed_[n]).shard_elements()});
      matrices.push_back(n);
      if (routed_[n].home.g == place_.g) delivered_.push_back(n);
    }
    stage1_ = make_exchange(AxisSet::kGtpRemat, std::move(items), std::move(matrices), "stage1");
    for (std::size_t n = 0; n < routed_.size(); ++n) {
      routed_[n].ns_input = stage1_->out(static_cast<int>(n));
      routed_[n].update = stage1_->in_back(static_cast<int>(n));
    }
  }

  void plan_stage2() {
    for (const int dim : {0, 1}) {
      std::vector<ExchangeItem> items;
      std::vector<std::size_t> matrices;
      for (const std::size_t n : delivered_) {
        if (spec(routed_[n]).tp_dim != dim) continue;
        items.push_back(
            {GroupRank(routed_[n].home.t->value()), spec(routed_[n]).tp_local_shape().elements()});
        matrices.push_back(n);
      }
      if (items.empty()) continue;
      const Exchange& exchange = stage2_.emplace_back(
          make_exchange(AxisSet::kTp, std::move(items), std::move(matrices), text("stage2_dim{}", dim)));
      for (std::size_t k = 0; k < exchange.matrices.size(); ++k) {
        Routed& routed = routed_[exchange.matrices[k]];
        routed.tp_local_in = exchange.out(static_cast<int>(k));
        routed.tp_local_back = exchange.in_back(static_cast<int>(k));
        if (has_stage1()) continue;
        routed.ns_input = *routed.tp_local_in;
        routed.update = *routed.tp_local_back;
      }
    }
  }

  /// Full matrices that meet NS here, one buffer for all.
  void plan_matrices() {
    Elements total;
    for (const std::size_t n : delivered_) {
      Routed& routed = routed_[n];
      if (!routed.home.is_at(place_)) continue;
      const Elements size = spec(routed).full_shape.elements();
      routed.full = Region{{}, total, size};
      total += size;
    }
    if (total == Elements(0)) return;
    const BufferId matrices = emitter_.builder().add_transient(text("{}.ns_matrices", group_.label), total,
                                                               DType::kFp32, MemoryUse::kNsScratch);
    for (Routed& routed : routed_)
      if (routed.full) routed.full->buffer = matrices;
  }

  void momentum() {
    MomentumOp op{group_.rule, {}};
    Elements total;
    for (const ParamIndex p : replicated_) total += emitter_.spec(p).shard_elements();
    const BufferId inputs = replicated_.empty()
                                ? BufferId{}
                                : emitter_.builder().add_transient(text("{}.replicated", group_.label), total,
                                                                   DType::kFp32, MemoryUse::kNsScratch);
    Elements offset;
    for (const ParamIndex p : replicated_) {
      replicated_regions_.push_back(Region{inputs, offset, emitter_.spec(p).shard_elements()});
      op.items.push_back(emitter_.momentum_item(p, replicated_regions_.back()));
      offset += emitter_.spec(p).shard_elements();
    }
    for (const Routed& routed : routed_)
      op.items.push_back(emitter_.momentum_item(routed.param, routed.ns_input));
    emitter_.builder().add(Phase::kMomentum, queue_, std::move(op));
  }

  /// Each copy is already whole, so a home would only add a broadcast.
  void replicated() {
    if (replicated_.empty()) return;
    std::vector<Emitter::Matrix> matrices;
    UpdateOp op{group_.rule.lr, {}};
    for (std::size_t i = 0; i < replicated_.size(); ++i) {
      matrices.push_back({emitter_.spec(replicated_[i]).full_shape, replicated_regions_[i]});
      op.items.push_back(emitter_.update_item(replicated_[i], replicated_regions_[i]));
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
    if (!has_stage1()) return;
    all_to_all(Phase::kStage1Forward, *stage1_, Direction::kAssemble);
    std::vector<Tile> tiles;
    for (const std::size_t n : delivered_) {
      const Region matrix = routed_[n].tp_local_in ? *routed_[n].tp_local_in : *routed_[n].full;
      for (int g = 0; g < domain_.gtp_remat; ++g)
        add_gtp_tile(tiles, spec(routed_[n]), GtpRank(g), stage1_->in(static_cast<int>(n), GroupRank(g)),
                     matrix, Direction::kAssemble);
    }
    copy(Phase::kStage1Forward, std::move(tiles));
  }

  void forward_stage2() {
    std::vector<Tile> tiles;
    for (const Exchange& exchange : stage2_) {
      all_to_all(Phase::kStage2Forward, exchange, Direction::kAssemble);
      for (const int k : exchange.layout.homed_here()) {
        const Routed& routed = routed_[exchange.matrices[static_cast<std::size_t>(k)]];
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
    for (const Routed& routed : routed_) {
      if (!routed.full) continue;
      (routed.tp_local_in ? tp_sharded : tp_complete).push_back({spec(routed).full_shape, *routed.full});
    }
    const int batch_size = emitter_.inputs().ns_batch_size;
    emitter_.newton_schulz(tp_sharded, batch_size, Phase::kNs, queue_);
    emitter_.newton_schulz(tp_complete, batch_size, Phase::kNs, queue_);
  }

  void reverse_stage2() {
    std::vector<Tile> tiles;
    for (const Exchange& exchange : stage2_) {
      for (const int k : exchange.layout.homed_here()) {
        const Routed& routed = routed_[exchange.matrices[static_cast<std::size_t>(k)]];
        for (int t = 0; t < domain_.tp; ++t)
          add_tp_tile(tiles, spec(routed), TpRank(t), exchange.out_back(k, GroupRank(t)), *routed.full,
                      Direction::kTakeApart);
      }
    }
    copy(Phase::kStage2Reverse, std::move(tiles));
    for (const Exchange& exchange : stage2_)
      all_to_all(Phase::kStage2Reverse, exchange, Direction::kTakeApart);
  }

  void reverse_stage1() {
    if (!has_stage1()) return;
    std::vector<Tile> tiles;
    ZeroFillOp pads;
    for (const std::size_t n : delivered_) {
      const Region matrix = routed_[n].tp_local_back ? *routed_[n].tp_local_back : *routed_[n].full;
      for (int g = 0; g < domain_.gtp_remat; ++g) {
        const Region shard = stage1_->out_back(static_cast<int>(n), GroupRank(g));
        add_gtp_tile(tiles, spec(routed_[n]), GtpRank(g), shard, matrix, Direction::kTakeApart);
        const Region pad = pad_region(spec(routed_[n]), GtpRank(g), shard);
        if (pad.size > Elements(0)) pads.regions.push_back(pad);
      }
    }
    copy(Phase::kStage1Reverse, std::move(tiles));
    if (!pads.regions.empty()) emitter_.builder().add(Phase::kStage1Reverse, queue_, std::move(pads));
    all_to_all(Phase::kStage1Reverse, *stage1_, Direction::kTakeApart);
  }

  void update() {
    if (routed_.empty()) return;
    UpdateOp op{group_.rule.lr, {}};
    for (const Routed& routed : routed_)
      op.items.push_back(emitter_.update_item(routed.param, routed.update));
    emitter_.builder().add(Phase::kUpdate, queue_, std::move(op));
  }

  Emitter& emitter_;
  const ParamGroup& group_;
  int queue_;
  DomainShape domain_;
  DomainPlace place_;
  std::vector<ParamIndex> replicated_;
  std::vector<Region> replicated_regions_;
  std::vector<Routed> routed_;
  std::vector<std::size_t> delivered_;  ///< routed_ whose TP-local matrix is here after stage 1
  std::optional<Exchange> stage1_;
  std::vector<Exchange> stage2_;
};

}  // namespace

void emit_layer_sharded(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder) {
  Emitter emitter(inputs, rank, builder);
  emitter.declare(StatePlacement::kWithShard, StatePlacement::kAdamByRows);
  for (const ParamGroup& group : inputs.groups) {
    const ParamGroup held = emitter.held_part(group);
    if (!held.params.empty()) LayerShardedGroup(emitter, held, 0).emit();
  }
  emitter.adam(emitter.with_gradient(OptimizerKind::kAdam), StatePlacement::kAdamByRows, 0);
}

}  // namespace muonbench
