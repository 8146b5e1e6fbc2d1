// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/layer_sharded_group.h"

#include <map>
#include <utility>

#include "src/base/text.h"
#include "src/program/batches.h"
#include "src/program/distributed_ns.h"
#include "src/program/emitters.h"
#include "src/program/layer_sharded_routes.h"

namespace muonbench {
namespace {

std::vector<ParamIndex> without_home(const StepInputs& inputs, const ParamGroup& group) {
  std::vector<ParamIndex> found = group.params;
  std::erase_if(found, [&](ParamIndex p) { return inputs.homes[p.at()].has_value(); });
  return found;
}

/// Weights whose NS is spread over the domain: none of their shards goes to a home.
std::vector<ParamIndex> spread_in_place(const StepInputs& inputs, const ParamGroup& group) {
  std::vector<ParamIndex> found;
  for (const ParamIndex p : group.params)
    if (const auto& home = inputs.homes[p.at()]; home && !home->is_routed()) found.push_back(p);
  return found;
}

/// Parameters that travel to their homes, wave by wave.
std::vector<LayerShardedRoutes> plan_waves(Emitter& emitter, const ParamGroup& group) {
  std::map<int, std::vector<ParamIndex>> waves;
  for (const ParamIndex p : group.params)
    if (const auto& home = emitter.inputs().homes[p.at()]; home && home->is_routed())
      waves[emitter.inputs().travel.wave(p)].push_back(p);
  std::vector<LayerShardedRoutes> routes;
  routes.reserve(waves.size());
  for (const auto& [wave, params] : waves)
    routes.push_back(plan_routes(emitter, group.family, params,
                                 waves.size() == 1 ? group.label : text("{}.wave{}", group.label, wave)));
  return routes;
}

class LayerShardedGroup {
 public:
  LayerShardedGroup(Emitter& emitter, const ParamGroup& held, PipelineQueues queues)
      : emitter_(emitter),
        group_(held),
        replicated_(without_home(emitter.inputs(), held)),
        waves_(plan_waves(emitter, held)),
        queue_(queues.travel),
        ns_queue_(waves_.size() > 1 ? queues.ns : queues.travel) {}

  /// While a wave is in NS, the one before returns and the one behind comes. What starts their first
  /// collectives goes before NS of that wave, so that they are under way also where work is done while it is
  /// enqueued; what waits for them comes behind it.
  void emit() {
    const DistributionRule where_shards_lie = [](const ParamShardSpec& spec) {
      return distribution_as(NsSpread::kDomain, spec);
    };
    emit_distributed_weights(emitter_, group_, spread_in_place(emitter_.inputs(), group_), where_shards_lie,
                             queue_);
    if (waves_.empty() && replicated_.empty()) return;
    momentum(waves_.empty() ? nullptr : &waves_.front(), replicated_);
    replicated();
    if (waves_.empty()) return;
    start_home(waves_.front());
    arrive_home(waves_.front());
    for (std::size_t k = 0; k < waves_.size(); ++k) {
      LayerShardedRoutes* before = k > 0 ? &waves_[k - 1] : nullptr;
      LayerShardedRoutes* behind = k + 1 < waves_.size() ? &waves_[k + 1] : nullptr;
      if (before != nullptr) start_back(*before);
      if (behind != nullptr) {
        momentum(behind, {});
        start_home(*behind);
      }
      newton_schulz(waves_[k]);
      if (before != nullptr) arrive_back(*before);
      if (behind != nullptr) arrive_home(*behind);
    }
    start_back(waves_.back());
    arrive_back(waves_.back());
  }

 private:
  void momentum(const LayerShardedRoutes* wave, const std::vector<ParamIndex>& replicated) {
    MomentumOp op{group_.rule, {}};
    Elements total;
    for (const ParamIndex p : replicated) total += emitter_.spec(p).shard_elements();
    const BufferId inputs = replicated.empty()
                                ? BufferId{}
                                : emitter_.builder().add_transient(text("{}.replicated", group_.label), total,
                                                                   DType::kFp32, MemoryUse::kNsScratch);
    Elements offset;
    for (const ParamIndex p : replicated) {
      replicated_regions_.push_back(Region{inputs, offset, emitter_.spec(p).shard_elements()});
      op.items.push_back(emitter_.momentum_item(p, replicated_regions_.back()));
      offset += emitter_.spec(p).shard_elements();
    }
    if (wave != nullptr)
      for (const Routed& routed : wave->routed)
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
    emitter_.newton_schulz(matrices, emitter_.inputs().ns_batch_size, Phase::kNsReplicated, ns_queue_);
    emitter_.builder().add(Phase::kUpdate, ns_queue_, std::move(op));
  }

  /// The way home in two parts: its first collectives, and all that follows from them.
  void start_home(LayerShardedRoutes& wave) {
    if (!wave.forward.empty()) start(wave.forward.front());
  }
  void arrive_home(LayerShardedRoutes& wave) {
    for (std::size_t i = 0; i < wave.forward.size(); ++i) {
      if (i > 0) start(wave.forward[i]);
      copy_meanwhile(wave.forward[i]);
      copy(wave.forward[i]);
    }
  }

  /// The way back in as many; it ends in the update.
  void start_back(LayerShardedRoutes& wave) {
    if (wave.reverse.empty()) return;
    copy(wave.reverse.front());
    start(wave.reverse.front());
    copy_meanwhile(wave.reverse.front());
  }
  void arrive_back(LayerShardedRoutes& wave) {
    for (std::size_t i = 1; i < wave.reverse.size(); ++i) {
      copy(wave.reverse[i]);
      start(wave.reverse[i]);
      copy_meanwhile(wave.reverse[i]);
    }
    update(wave);
  }

  void start(Leg& leg) {
    for (Work& collective : leg.collectives) emitter_.builder().add(leg.phase, queue_, std::move(collective));
  }

  void copy(Leg& leg) {
    if (!leg.tiles.empty()) emitter_.builder().add(leg.phase, queue_, CopyOp{std::move(leg.tiles)});
    if (!leg.pads.empty()) emitter_.builder().add(leg.phase, queue_, ZeroFillOp{std::move(leg.pads)});
  }

  void copy_meanwhile(Leg& leg) {
    if (!leg.meanwhile.empty()) emitter_.builder().add(leg.phase, queue_, CopyOp{std::move(leg.meanwhile)});
  }

  /// Matrices of a whole column go in batches of their own: all TP peers of it must batch them alike,
  /// whatever other matrices each has besides, or batching would let TP replicas drift apart.
  void newton_schulz(const LayerShardedRoutes& wave) {
    std::vector<Emitter::Matrix> of_one, of_column;
    for (const Routed& routed : wave.routed) {
      if (!routed.full || routed.home.spread != NsSpread::kNone) continue;
      (routed.home.t ? of_one : of_column).push_back(emitter_.full_matrix(routed.param, *routed.full));
    }
    const int batch_size = emitter_.inputs().ns_batch_size;
    const NsScaling scaling = emitter_.inputs().travel.scaling();
    emitter_.newton_schulz(of_one, batch_size, Phase::kNs, ns_queue_, scaling);
    emitter_.newton_schulz(of_column, batch_size, Phase::kNs, ns_queue_, scaling);
    spread_newton_schulz(wave);
  }

  /// On the queue of what travels, since the sums use a communicator that other waves travel over.
  void spread_newton_schulz(const LayerShardedRoutes& wave) {
    std::vector<const Routed*> spread;
    for (const Routed& routed : wave.routed)
      if (routed.full && routed.home.spread == NsSpread::kColumn) spread.push_back(&routed);
    const auto kind = [&](const Routed* routed) { return distributed_kind(emitter_, routed->param); };
    for (const std::vector<const Routed*>& batch : batches(spread, emitter_.inputs().ns_batch_size, kind)) {
      const ParamIndex p = batch.front()->param;
      const ParamShardSpec& spec = emitter_.spec(p);
      const Distribution distribution = distribution_as(NsSpread::kColumn, spec).value();
      std::vector<Region> matrices;
      matrices.reserve(batch.size());
      for (const Routed* routed : batch) matrices.push_back(*routed->full);
      DistributedNs(emitter_, {{group_.family, AxisSet{distribution.axis}},
                               distribution.side,
                               queue_,
                               emitter_.inputs().travel.scaling()})
          .run(matrices, held_part(spec, distribution, emitter_.place(group_.family)),
               emitter_.inputs().splits.at(p.at()), spec.full_shape);
    }
  }

  void update(const LayerShardedRoutes& wave) {
    UpdateOp op{group_.rule.lr, {}};
    for (const Routed& routed : wave.routed) append_updates(routed, op.items);
    emitter_.builder().add(Phase::kUpdate, queue_, std::move(op));
  }

  void append_updates(const Routed& routed, std::vector<UpdateItem>& items) {
    switch (emitter_.inputs().travel.scaling()) {
      case NsScaling::kByNs: items.push_back(emitter_.update_item(routed.param, routed.update)); break;
      case NsScaling::kByReceiver:
        for (UpdateItem& item : emitter_.unscaled_update_items(routed.param, routed.update))
          items.push_back(item);
        break;
    }
  }

  Emitter& emitter_;
  const ParamGroup& group_;
  std::vector<ParamIndex> replicated_;
  std::vector<LayerShardedRoutes> waves_;
  int queue_;     ///< of all but NS
  int ns_queue_;  ///< another one if there are waves to travel beside it
  std::vector<Region> replicated_regions_;
};

}  // namespace

void emit_layer_sharded_group(Emitter& emitter, const ParamGroup& held, PipelineQueues queues) {
  if (!held.params.empty()) LayerShardedGroup(emitter, held, queues).emit();
}

}  // namespace muonbench
