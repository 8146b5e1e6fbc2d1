// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/parameter.h"
#include "src/plan/group_queues.h"
#include "src/plan/homes.h"
#include "src/plan/param_groups.h"
#include "src/plan/residence.h"
#include "src/plan/state_layout.h"
#include "src/plan/travel.h"
#include "src/program/program.h"
#include "src/shard/row_split.h"
#include "src/shard/shard_spec.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// What mode layer_wise deals out over the replicas, by parameter; empty where it does not run.
struct OwnedParams {
  std::vector<std::optional<int>> owners;  ///< dp index; none: Adam's, by rows over all replicas
  std::vector<std::optional<Home>> homes;  ///< within the owner's domain, as StepInputs::homes
  std::vector<int> wave_of;                ///< as Travel::wave_of
};

/// Everything an emitter reads. Equal on all ranks; an emitter adds only the rank that it emits for.
/// `params` and `grid` must outlive it.
struct StepInputs {
  const ParamSet& params;
  const RankGrid& grid;
  std::vector<ParamShardSpec> specs;       ///< per parameter, for the domain of its family
  std::vector<Residence> residences;       ///< per parameter
  std::vector<std::optional<Home>> homes;  ///< per parameter; none: replicated, Adam or without gradient
  std::vector<ParamGroup> groups;          ///< of grad-bearing Muon parameters
  AdamRule adam;
  NsOptions ns;
  int ns_batch_size = 1;
  DType param_dtype = DType::kBf16;
  GroupQueues queues = {};            ///< of `groups`
  std::vector<RowSplit> splits = {};  ///< per parameter: what NS takes apart
  DType moment_dtype = DType::kFp32;  ///< Adam's
  OwnedParams layer_wise = {};
  Travel travel = {};
  bool split_oversized = false;  ///< homes may be spread
};

/// Whether a mode runs NS on Muon parameters, or treats all as Adam's.
enum class MuonUse { kMuon, kAdamOnly };
/// What holds between a mode with ns_algorithm gemm and ns_batch_size 1 and mode duplicated.
enum class BitPromise { kNone, kAsDuplicated };

/// What tells two ranks' costs apart, beside the shapes of their shards.
enum class CostsDependOn { kShards, kShardsAndHomes, kShardsAndOwners, kShardsAndSums };

/// Whether each param group has a pipeline of its own, which may overlap with those of others.
enum class Pipelines { kPerGroup, kOneForAll };

/// Whether all weights take one way, or each the one that is decided for it (distribution.h).
enum class WeightsRun { kAlike, kAsDecided };

/// THE table of modes.
struct Mode {
  std::string_view name;
  MuonUse muon;
  BitPromise bits;
  CostsDependOn costs;
  Pipelines pipelines;
  std::string_view what;  ///< one line for --help
  void (*emit)(const StepInputs&, WorldRank, ProgramBuilder&);
  WeightsRun weights = WeightsRun::kAlike;
};
[[nodiscard]] const std::vector<Mode>& modes();
[[nodiscard]] const Mode& mode_named(std::string_view name);  ///< throws ConfigError listing the known names

/// By parameter; none where the mode has no homes.
[[nodiscard]] const std::vector<std::optional<Home>>* homes_in(const Mode& mode, const StepInputs& inputs);

/// `order`: left out, the program can be counted, not run.
[[nodiscard]] StepProgram build_program(const Mode& mode, const StepInputs& inputs, WorldRank rank,
                                        Order order = Order::kDerived);

}  // namespace muonbench
