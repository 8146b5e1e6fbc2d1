// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/layer_sharded_routes.h"

#include <utility>

#include "src/base/text.h"

namespace muonbench {

LayerShardedRoutes::LayerShardedRoutes(Emitter& emitter, const ParamGroup& group)
    : emitter_(emitter),
      group_(group),
      domain_(emitter.inputs().grid.domain(group.family)),
      place_(emitter.place(group.family)) {
  sort_params();
  plan_stage1();
  plan_stage2();
  plan_matrices();
}

void LayerShardedRoutes::sort_params() {
  for (const ParamIndex p : group_.params) {
    if (const auto& home = emitter_.inputs().homes[p.at()])
      routed_.push_back(Routed{p, *home, {}, {}, {}, {}, {}});
    else
      replicated_.push_back(p);
  }
}

Exchange LayerShardedRoutes::make_exchange(AxisSet::Axis axis, std::vector<ExchangeItem> items,
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

void LayerShardedRoutes::plan_stage1() {
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

void LayerShardedRoutes::plan_stage2() {
  for (const int dim : {0, 1}) {
    std::vector<ExchangeItem> items;
    std::vector<std::size_t> matrices;
    for (const std::size_t n : delivered_) {
      if (spec(routed_[n]).tp_dim != dim) continue;
      items.push_back({GroupRank(routed_[n].home.t->value()), spec(routed_[n]).tp_local_shape().elements()});
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
void LayerShardedRoutes::plan_matrices() {
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

}  // namespace muonbench
