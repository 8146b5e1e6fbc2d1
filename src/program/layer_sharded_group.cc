// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/layer_sharded_group.h"

#include <utility>

#include "src/base/text.h"
#include "src/program/layer_sharded_routes.h"

namespace muonbench {
namespace {

std::vector<ParamIndex> with_home(const StepInputs& inputs, const ParamGroup& group) {
  std::vector<ParamIndex> found = group.params;
  std::erase_if(found, [&](ParamIndex p) { return !inputs.homes[p.at()]; });
  return found;
}

std::vector<ParamIndex> without_home(const StepInputs& inputs, const ParamGroup& group) {
  std::vector<ParamIndex> found = group.params;
  std::erase_if(found, [&](ParamIndex p) { return inputs.homes[p.at()].has_value(); });
  return found;
}

class LayerShardedGroup {
 public:
  LayerShardedGroup(Emitter& emitter, const ParamGroup& held, int queue)
      : emitter_(emitter),
        group_(held),
        queue_(queue),
        replicated_(without_home(emitter.inputs(), held)),
        routes_(plan_routes(emitter, held.family, with_home(emitter.inputs(), held), held.label)) {}

  void emit() {
    momentum();
    replicated();
    for (Leg& leg : routes_.forward) {
      start(leg);
      copy(leg);
    }
    newton_schulz();
    for (Leg& leg : routes_.reverse) {
      copy(leg);
      start(leg);
    }
    update();
  }

 private:
  void momentum() {
    MomentumOp op{group_.rule, {}};
    Elements total;
    for (const ParamIndex p : replicated_) total += emitter_.spec(p).shard_elements();
    const BufferId inputs =
        replicated_.empty() ? BufferId{}
                            : emitter_.builder().add_transient(text("{}.replicated", group_.label), total,
                                                               DType::kFp32, MemoryUse::kNsScratch);
    Elements offset;
    for (const ParamIndex p : replicated_) {
      replicated_regions_.push_back(Region{inputs, offset, emitter_.spec(p).shard_elements()});
      op.items.push_back(emitter_.momentum_item(p, replicated_regions_.back()));
      offset += emitter_.spec(p).shard_elements();
    }
    for (const Routed& routed : routes_.routed)
      op.items.push_back(emitter_.momentum_item(routed.param, routed.ns_input));
    emitter_.builder().add(Phase::kMomentum, queue_, std::move(op));
  }

  /// Each copy is already whole, so a home would only add a broadcast.
  void replicated() {
    if (replicated_.empty()) return;
    std::vector<Emitter::Matrix> matrices;
    UpdateOp op{group_.rule.lr, {}};
    for (std::size_t i = 0; i < replicated_.size(); ++i) {
      matrices.push_back(emitter_.full_matrix(replicated_[i], replicated_regions_[i]));
      op.items.push_back(emitter_.update_item(replicated_[i], replicated_regions_[i]));
    }
    emitter_.newton_schulz(matrices, emitter_.inputs().ns_batch_size, Phase::kNsReplicated, queue_);
    emitter_.builder().add(Phase::kUpdate, queue_, std::move(op));
  }

  void start(Leg& leg) {
    for (Work& collective : leg.collectives)
      emitter_.builder().add(leg.phase, queue_, std::move(collective));
  }

  void copy(Leg& leg) {
    if (!leg.tiles.empty()) emitter_.builder().add(leg.phase, queue_, CopyOp{std::move(leg.tiles)});
    if (!leg.pads.empty()) emitter_.builder().add(leg.phase, queue_, ZeroFillOp{std::move(leg.pads)});
  }

  /// Matrices of a whole column go in batches of their own: all TP peers of it must batch them alike, whatever
  /// other matrices each has besides, or batching would let TP replicas drift apart.
  void newton_schulz() {
    std::vector<Emitter::Matrix> of_one, of_column;
    for (const Routed& routed : routes_.routed) {
      if (!routed.full) continue;
      (routed.home.t ? of_one : of_column).push_back(emitter_.full_matrix(routed.param, *routed.full));
    }
    const int batch_size = emitter_.inputs().ns_batch_size;
    emitter_.newton_schulz(of_one, batch_size, Phase::kNs, queue_);
    emitter_.newton_schulz(of_column, batch_size, Phase::kNs, queue_);
  }

  void update() {
    if (routes_.routed.empty()) return;
    UpdateOp op{group_.rule.lr, {}};
    for (const Routed& routed : routes_.routed)
      op.items.push_back(emitter_.update_item(routed.param, routed.update));
    emitter_.builder().add(Phase::kUpdate, queue_, std::move(op));
  }

  Emitter& emitter_;
  const ParamGroup& group_;
  int queue_;
  std::vector<ParamIndex> replicated_;
  LayerShardedRoutes routes_;
  std::vector<Region> replicated_regions_;
};

}  // namespace

void emit_layer_sharded_group(Emitter& emitter, const ParamGroup& held, int queue) {
  if (!held.params.empty()) LayerShardedGroup(emitter, held, queue).emit();
}

}  // namespace muonbench
