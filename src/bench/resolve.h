// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/config/run_config.h"
#include "src/model/parameter.h"
#include "src/model/values.h"
#include "src/program/modes.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// A configuration against its model and grid: all that emitters need, the same on every rank. Not movable:
/// `inputs` refers to its neighbours.
struct ResolvedRun {
  RunConfig config;
  ParamSet params;
  RankGrid grid;
  std::vector<GradientInjection> injections;
  std::vector<std::string> warnings;  ///< said once, by rank 0
  StepInputs inputs;

  explicit ResolvedRun(RunConfig run_config);
  ResolvedRun(const ResolvedRun&) = delete;
  ResolvedRun& operator=(const ResolvedRun&) = delete;
  ~ResolvedRun() = default;
};

/// Throws ConfigError where model, grid and options do not fit one another.
[[nodiscard]] std::unique_ptr<ResolvedRun> resolve(RunConfig config);

/// Inputs for given parameters; what resolve() and the golden cases share.
[[nodiscard]] StepInputs make_step_inputs(const RunConfig& config, const ParamSet& params,
                                          const RankGrid& grid, std::vector<std::string>& warnings);

[[nodiscard]] GridShape grid_shape(const ParallelismConfig& parallelism);

/// Fingerprint of everything that must be equal on all ranks before the first collective.
[[nodiscard]] std::uint64_t fingerprint(const StepInputs& inputs);

}  // namespace muonbench
