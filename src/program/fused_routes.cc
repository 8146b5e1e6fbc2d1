// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/base/text.h"
#include "src/program/exchange.h"
#include "src/program/layer_sharded_routes.h"
#include "src/program/tiles.h"

namespace muonbench {
namespace {

class FusedPlan {
 public:
  FusedPlan(Emitter& emitter, Family family, std::vector<Routed> routed, const std::string& name)
      : emitter_(emitter),
        family_(family),
        domain_(emitter.inputs().grid.domain(family)),
        me_(domain_.index_of(emitter.place(family))),
        routed_(std::move(routed)),
        exchange_(make_exchange(emitter, domain_group(), items(), text("{}.fused", name))) {
    place_full_matrices(emitter_, family_, routed_, name);
  }

  LayerShardedRoutes make() {
    for (int item = 0; item < static_cast<int>(exchange_.matrices.size()); ++item) {
      Routed& one = routed_[exchange_.matrix(item)];
      if (exchange_.forward.layout.has_peer(item, me_)) one.ns_input = exchange_.out(item);
      if (exchange_.reverse.layout.has_peer(item, me_)) one.update = exchange_.in_back(item);
    }
    Leg there{Phase::kStage1Forward, {exchange_.there()}, {}, {}};
    Leg back{Phase::kStage1Reverse, {exchange_.back()}, {}, {}};
    for (const int item : exchange_.forward.layout.homed_here()) add_tiles(item, there, back);
    LayerShardedRoutes routes{std::move(routed_), {}, {}};
    routes.forward.push_back(std::move(there));
    routes.reverse.push_back(std::move(back));
    return routes;
  }

 private:
  [[nodiscard]] const ParamShardSpec& spec(std::size_t n) const { return emitter_.spec(routed_[n].param); }

  [[nodiscard]] GroupKey domain_group() const {
    return emitter_.inputs().grid.canonical({family_, AxisSet{AxisSet::kTp, AxisSet::kGtpRemat}});
  }

  [[nodiscard]] ExchangeList items() const {
    ExchangeList list;
    for (std::size_t n = 0; n < routed_.size(); ++n) {
      const Home& home = routed_[n].home;
      const Elements shard = spec(n).shard_elements();
      if (home.t) {
        // TP peers that hold equal shards: those of the home's t send, and all want the update.
        const PeerSet senders = spec(n).tp_dim ? PeerSet{} : PeerSet{home.t->value(), domain_.tp};
        list.add(n, GroupRank(domain_.index_of({home.g, *home.t})), shard, senders);
        continue;
      }
      // Each TP peer of the home column is a home, which the ranks of its own t serve.
      for (int t = 0; t < domain_.tp; ++t) {
        const PeerSet column{t, domain_.tp};
        list.add(n, GroupRank(domain_.index_of({home.g, TpRank(t)})), shard, column, column);
      }
    }
    return list;
  }

  void add_tiles(int item, Leg& there, Leg& back) const {
    const std::size_t n = exchange_.matrix(item);
    const auto add_tile = [&](std::vector<Tile>& tiles, DomainPlace place, Region shard,
                              Direction direction) {
      if (routed_[n].home.spread == NsSpread::kColumn)
        add_gtp_tile(tiles, spec(n), place.g, shard, *routed_[n].full, direction);
      else
        add_shard_tile(tiles, spec(n), place, shard, *routed_[n].full, direction);
    };
    for (int peer = 0; peer < domain_.size(); ++peer) {
      const DomainPlace place = domain_.place_at(peer);
      const GroupRank rank(peer);
      if (exchange_.forward.layout.has_peer(item, rank))
        add_tile(there.tiles, place, exchange_.in(item, rank), Direction::kAssemble);
      if (!exchange_.reverse.layout.has_peer(item, rank)) continue;
      const Region shard = exchange_.out_back(item, rank);
      add_tile(back.tiles, place, shard, Direction::kTakeApart);
      const Region pad = pad_region(spec(n), place.g, shard);
      if (pad.size > Elements(0)) back.pads.push_back(pad);
    }
  }

  Emitter& emitter_;
  Family family_;
  DomainShape domain_;
  GroupRank me_;
  std::vector<Routed> routed_;
  Exchange exchange_;
};

}  // namespace

LayerShardedRoutes plan_fused(Emitter& emitter, Family family, std::vector<Routed> routed,
                              const std::string& name) {
  if (routed.empty()) return {};
  return FusedPlan(emitter, family, std::move(routed), name).make();
}

}  // namespace muonbench
