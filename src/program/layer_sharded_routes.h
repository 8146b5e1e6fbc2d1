// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/program/emitter.h"

namespace muonbench {

/// One routed parameter as this rank sees it.
struct Routed {
  ParamIndex param;
  Home home;
  std::optional<Region> ns_input;  ///< where the momentum pass puts this rank's shard, if it travels
  Region update;                   ///< where the orthogonalised shard comes back
  std::optional<Region> full;      ///< NS runs here: on the full matrix, or the TP-local one if NS is spread
};

/// A part of the way: collectives, started one after the other, and the copies between what travels and what
/// it makes up. On the way home the copies follow the collectives, on the way back they come before, but for
/// those between full matrices and what does not travel, which go on meanwhile.
struct Leg {
  Phase phase = Phase::kStage1Forward;
  std::vector<Work> collectives;
  std::vector<Tile> tiles;
  std::vector<Region> pads;  ///< zeroed beside the copies
  std::vector<Tile> meanwhile = {};
};

/// The ways of a list of routed parameters through a step, as one rank sees them: in which regions of which
/// buffers each parameter's shard and full matrix lie, and what moves between them. Buffers are created in
/// the emitter's program; no op is.
struct LayerShardedRoutes {
  std::vector<Routed> routed;
  /// As many on all ranks of the domain, also where a rank has no part in one: waves take turns by legs, so
  /// that all ranks start a communicator's collectives in one order.
  std::vector<Leg> forward, reverse;
};

/// Routes of parameters that all have homes, by inputs().travel. All ranks of the domain must be given the
/// same list. `name` is for buffers.
[[nodiscard]] LayerShardedRoutes plan_routes(Emitter& emitter, Family family,
                                             const std::vector<ParamIndex>& params, const std::string& name);

/// Stage 1 over gtp_remat, which brings TP-local matrices to the home's column, and stage 2 over tp, which
/// makes them full: one exchange for matrices split along dim 0, one for those along dim 1.
[[nodiscard]] LayerShardedRoutes plan_two_stages(Emitter& emitter, Family family, std::vector<Routed> routed,
                                                 const std::string& name);

/// One exchange over the whole domain, both tp dims together.
[[nodiscard]] LayerShardedRoutes plan_fused(Emitter& emitter, Family family, std::vector<Routed> routed,
                                            const std::string& name);

/// Gives those among `routed` whose home is at this rank their matrices: whole ones in one buffer, those
/// whose NS is spread in another.
void place_full_matrices(Emitter& emitter, Family family, std::vector<Routed>& routed,
                         const std::string& name);

}  // namespace muonbench
