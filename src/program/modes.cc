// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/modes.h"

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/program/emitters.h"

namespace muonbench {

const std::vector<Mode>& modes() {
  static const std::vector<Mode> table = {
      {"layer_sharded", MuonUse::kMuon, BitPromise::kAsDuplicated, CostsDependOn::kShardsAndHomes,
       Pipelines::kPerGroup, "NS once, at each weight's home", emit_layer_sharded},
      {"duplicated", MuonUse::kMuon, BitPromise::kAsDuplicated, CostsDependOn::kShards, Pipelines::kOneForAll,
       "NS on every rank, after gathering every weight", emit_duplicated},
      {"distributed", MuonUse::kMuon, BitPromise::kNone, CostsDependOn::kShardsAndSums, Pipelines::kOneForAll,
       "NS on each rank's own rows or columns, adding up Gram matrices", emit_distributed},
      {"blockwise", MuonUse::kMuon, BitPromise::kNone, CostsDependOn::kShards, Pipelines::kOneForAll,
       "NS on each rank's own shards, with no exchange: the update depends on the layout", emit_blockwise},
      {"layer_wise", MuonUse::kMuon, BitPromise::kAsDuplicated, CostsDependOn::kShardsAndOwners,
       Pipelines::kPerGroup, "layer_sharded in the one replica that keeps a weight's state, then all get it",
       emit_layer_wise},
      {"auto", MuonUse::kMuon, BitPromise::kNone, CostsDependOn::kShardsAndSums, Pipelines::kOneForAll,
       "duplicated, but for dense weights over gtp_remat that distributed runs with fewer FLOPs", emit_auto,
       WeightsRun::kAsDecided},
      {"adam_dim0", MuonUse::kAdamOnly, BitPromise::kNone, CostsDependOn::kShards, Pipelines::kOneForAll,
       "Adam on all, state dealt out by rows", emit_adam_dim0},
      {"adam_replicated", MuonUse::kAdamOnly, BitPromise::kNone, CostsDependOn::kShards,
       Pipelines::kOneForAll, "Adam on all, state for every row held", emit_adam_replicated},
  };
  return table;
}

const Mode& mode_named(std::string_view name) {
  std::vector<std::string> known;
  for (const Mode& mode : modes()) {
    if (mode.name == name) return mode;
    known.emplace_back(mode.name);
  }
  throw ConfigError(text("modes: expected one of {}, got '{}'", join(known), name));
}

const std::vector<std::optional<Home>>* homes_in(const Mode& mode, const StepInputs& inputs) {
  switch (mode.costs) {
    case CostsDependOn::kShards:
    case CostsDependOn::kShardsAndSums: return nullptr;
    case CostsDependOn::kShardsAndHomes: return &inputs.homes;
    case CostsDependOn::kShardsAndOwners: return &inputs.layer_wise.homes;
  }
  return nullptr;
}

StepProgram build_program(const Mode& mode, const StepInputs& inputs, WorldRank rank, Order order) {
  ProgramBuilder builder(inputs.ns);
  mode.emit(inputs, rank, builder);
  return builder.finish(order);
}

}  // namespace muonbench
