// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/plan/shard_exchange.h"
#include "src/program/emitter.h"

namespace muonbench {

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

/// The ways of one param group's routed parameters through a step, as one rank sees them: which exchanges
/// there are, and in which regions of which buffers each parameter's shard, TP-local matrix and full matrix
/// lie. Buffers are created in the emitter's program; no op is.
class LayerShardedRoutes {
 public:
  LayerShardedRoutes(Emitter& emitter, const ParamGroup& group);

  [[nodiscard]] const std::vector<ParamIndex>& replicated() const { return replicated_; }
  [[nodiscard]] const std::vector<Routed>& routed() const { return routed_; }
  /// Indices in routed() whose TP-local matrix is here after stage 1.
  [[nodiscard]] const std::vector<std::size_t>& delivered() const { return delivered_; }
  /// Over gtp_remat; none if the domain has no such axis or nothing is routed.
  [[nodiscard]] const std::optional<Exchange>& stage1() const { return stage1_; }
  /// Over tp: matrices split along dim 0, then those along dim 1; as many as occur here.
  [[nodiscard]] const std::vector<Exchange>& stage2() const { return stage2_; }

 private:
  void sort_params();
  [[nodiscard]] Exchange make_exchange(AxisSet::Axis axis, std::vector<ExchangeItem> items,
                                       std::vector<std::size_t> matrices, const std::string& name);
  void plan_stage1();
  void plan_stage2();
  void plan_matrices();
  [[nodiscard]] const ParamShardSpec& spec(const Routed& routed) const { return emitter_.spec(routed.param); }
  [[nodiscard]] bool has_stage1() const { return domain_.gtp_remat > 1 && !routed_.empty(); }

  Emitter& emitter_;
  const ParamGroup& group_;
  DomainShape domain_;
  DomainPlace place_;
  std::vector<ParamIndex> replicated_;
  std::vector<Routed> routed_;
  std::vector<std::size_t> delivered_;
  std::optional<Exchange> stage1_;
  std::vector<Exchange> stage2_;
};

}  // namespace muonbench
