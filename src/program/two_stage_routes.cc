// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/program/exchange.h"
#include "src/program/layer_sharded_routes.h"
#include "src/program/tiles.h"

namespace muonbench {
namespace {

class TwoStagePlan {
 public:
  TwoStagePlan(Emitter& emitter, Family family, std::vector<Routed> routed, const std::string& name)
      : emitter_(emitter),
        family_(family),
        name_(name),
        domain_(emitter.inputs().grid.domain(family)),
        place_(emitter.place(family)),
        tp_local_(routed.size()),
        routes_{std::move(routed), {}, {}} {}

  LayerShardedRoutes make() {
    plan_stage1();
    plan_stage2();
    plan_spread();
    place_full_matrices(emitter_, family_, routes_.routed, name_);
    if (domain_.gtp_remat > 1) add_stage1_legs();
    if (any_tp_sharded()) add_stage2_legs();
    if (spread_) routes_.reverse.push_back(std::move(*spread_));
    return std::move(routes_);
  }

 private:
  /// Where stage 1 and stage 2 hand over to one another.
  struct TpLocal {
    Region there, back;
  };

  [[nodiscard]] Routed& routed(std::size_t n) { return routes_.routed[n]; }
  [[nodiscard]] const ParamShardSpec& spec(std::size_t n) const {
    return emitter_.spec(routes_.routed[n].param);
  }
  [[nodiscard]] Exchange exchange(AxisSet::Axis axis, ExchangeList list, const std::string& what) {
    return make_exchange(emitter_, {family_, AxisSet{axis}}, std::move(list), text("{}.{}", name_, what));
  }

  [[nodiscard]] bool any_tp_sharded() const {
    return std::any_of(routes_.routed.begin(), routes_.routed.end(),
                       [&](const Routed& one) { return emitter_.spec(one.param).tp_dim.has_value(); });
  }

  /// Of TP peers that hold equal shards, one alone takes part in stage 1.
  [[nodiscard]] bool is_single(std::size_t n) const {
    return !spec(n).tp_dim && domain_.tp > 1 && routes_.routed[n].home.t.has_value();
  }
  [[nodiscard]] bool is_elsewhere(std::size_t n) const {
    return is_single(n) && routes_.routed[n].home.t != place_.t;
  }

  void plan_stage1() {
    ExchangeList list;
    for (std::size_t n = 0; n < routes_.routed.size(); ++n) {
      if (is_elsewhere(n)) continue;
      // Without a gtp_remat axis every rank already holds the TP-local matrix of every parameter.
      if (domain_.gtp_remat == 1 || routed(n).home.g == place_.g) delivered_.push_back(n);
      if (domain_.gtp_remat > 1) list.add(n, GroupRank(routed(n).home.g.value()), spec(n).shard_elements());
    }
    if (list.empty()) return;
    stage1_ = exchange(AxisSet::kGtpRemat, std::move(list), "stage1");
    for (int item = 0; item < static_cast<int>(stage1_->matrices.size()); ++item) {
      routed(stage1_->matrix(item)).ns_input = stage1_->out(item);
      routed(stage1_->matrix(item)).update = stage1_->in_back(item);
    }
  }

  void plan_stage2() {
    for (const int dim : {0, 1}) {
      ExchangeList list;
      for (const std::size_t n : delivered_)
        if (spec(n).tp_dim == dim && routed(n).home.t)
          list.add(n, GroupRank(routed(n).home.t->value()), spec(n).tp_local_shape().elements());
      if (list.empty()) continue;
      const Exchange& stage =
          stage2_.emplace_back(exchange(AxisSet::kTp, std::move(list), text("stage2_dim{}", dim)));
      for (int item = 0; item < static_cast<int>(stage.matrices.size()); ++item) {
        const std::size_t n = stage.matrix(item);
        tp_local_[n] = TpLocal{stage.out(item), stage.in_back(item)};
        if (stage1_) continue;
        routed(n).ns_input = stage.out(item);
        routed(n).update = stage.in_back(item);
      }
    }
  }

  /// Updates that stage 1 has brought to the home's t alone go on to its TP peers, shard by shard: cheaper
  /// than whole matrices over tp first and stage 1 in every column then.
  void plan_spread() {
    std::vector<Segment> of_peer(static_cast<std::size_t>(domain_.tp));
    std::vector<std::pair<std::size_t, Elements>> singles;  // and where in their peer's block they lie
    for (std::size_t n = 0; n < routes_.routed.size(); ++n) {
      if (!is_single(n)) continue;
      Segment& block = of_peer[static_cast<std::size_t>(routed(n).home.t->value())];
      singles.emplace_back(n, block.size);
      block.size += spec(n).shard_elements();
    }
    if (singles.empty()) return;
    const Elements total = lay_out(of_peer);
    const auto buffer = [&](const char* what, Elements size) {
      return emitter_.builder().add_transient(text("{}.{}", name_, what), size,
                                              emitter_.inputs().travel.return_dtype, MemoryUse::kExchange);
    };
    const Elements mine = of_peer[static_cast<std::size_t>(place_.t.value())].size;
    const BufferId send = buffer("spread.send", mine), receive = buffer("spread.receive", total);
    spread_ = Leg{Phase::kStage2Reverse, {}, {}, {}};
    for (const auto& [n, at] : singles) {
      const Segment& block = of_peer[static_cast<std::size_t>(routed(n).home.t->value())];
      const Elements size = spec(n).shard_elements();
      if (!is_elsewhere(n)) add_region_tile(spread_->tiles, routed(n).update, Region{send, at, size});
      routed(n).update = Region{receive, block.offset + at, size};
    }
    spread_->collectives.emplace_back(
        AllGatherOp{{family_, AxisSet{AxisSet::kTp}}, Region{send, Elements(0), mine}, receive, of_peer});
  }

  /// Strips the pads on the way: under tp_dim 0 the TP-local matrices are stacked next, and zero rows would
  /// end up inside.
  void add_stage1_legs() {
    Leg there{Phase::kStage1Forward, {}, {}, {}}, back{Phase::kStage1Reverse, {}, {}, {}};
    if (stage1_) fill_stage1_legs(there, back);
    routes_.forward.push_back(std::move(there));
    routes_.reverse.push_back(std::move(back));
  }

  void fill_stage1_legs(Leg& there, Leg& back) {
    there.collectives.emplace_back(stage1_->there());
    back.collectives.emplace_back(stage1_->back());
    for (const int item : stage1_->forward.layout.homed_here()) {
      const std::size_t n = stage1_->matrix(item);
      const Region in = tp_local_[n] ? tp_local_[n]->there : *routed(n).full;
      const Region out = tp_local_[n] ? tp_local_[n]->back : *routed(n).full;
      for (int g = 0; g < domain_.gtp_remat; ++g) {
        const Region shard = stage1_->out_back(item, GroupRank(g));
        add_gtp_tile(there.tiles, spec(n), GtpRank(g), stage1_->in(item, GroupRank(g)), in,
                     Direction::kAssemble);
        add_gtp_tile(back.tiles, spec(n), GtpRank(g), shard, out, Direction::kTakeApart);
        const Region pad = pad_region(spec(n), GtpRank(g), shard);
        if (pad.size > Elements(0)) back.pads.push_back(pad);
      }
    }
  }

  void add_stage2_legs() {
    Leg there{Phase::kStage2Forward, {}, {}, {}}, back{Phase::kStage2Reverse, {}, {}, {}};
    for (const Exchange& stage : stage2_) {
      there.collectives.emplace_back(stage.there());
      back.collectives.emplace_back(stage.back());
      for (const int item : stage.forward.layout.homed_here()) {
        const std::size_t n = stage.matrix(item);
        for (int t = 0; t < domain_.tp; ++t) {
          add_tp_tile(there.tiles, spec(n), TpRank(t), stage.in(item, GroupRank(t)), *routed(n).full,
                      Direction::kAssemble);
          add_tp_tile(back.tiles, spec(n), TpRank(t), stage.out_back(item, GroupRank(t)), *routed(n).full,
                      Direction::kTakeApart);
        }
      }
    }
    routes_.forward.push_back(std::move(there));
    routes_.reverse.insert(routes_.reverse.begin(), std::move(back));
  }

  Emitter& emitter_;
  Family family_;
  const std::string& name_;
  DomainShape domain_;
  DomainPlace place_;
  std::vector<std::optional<TpLocal>> tp_local_;  ///< by index of `routed`: of what stage 2 takes on
  std::vector<std::size_t> delivered_;            ///< whose TP-local matrix is here after stage 1
  std::optional<Exchange> stage1_;
  std::vector<Exchange> stage2_;  ///< dim 0, then dim 1; as many as occur here
  std::optional<Leg> spread_;
  LayerShardedRoutes routes_;
};

}  // namespace

LayerShardedRoutes plan_two_stages(Emitter& emitter, Family family, std::vector<Routed> routed,
                                   const std::string& name) {
  return TwoStagePlan(emitter, family, std::move(routed), name).make();
}

}  // namespace muonbench
