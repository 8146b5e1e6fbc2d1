// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/plan_run.h"

#include "src/bench/collect.h"
#include "src/bench/rank_classes.h"
#include "src/bench/stats.h"

namespace muonbench {
namespace {

ModeInfo plan_mode(const Mode& mode, const ResolvedRun& run) {
  std::vector<RankCosts> costs(static_cast<std::size_t>(run.grid.world_size()));
  for (const RankClass& one : rank_classes(run.inputs, mode.costs)) {
    const StepProgram program = build_program(mode, run.inputs, one.representative);
    const RankCosts shared = costs_of(program, run.grid, one.representative);
    for (const WorldRank rank : one.members) costs[static_cast<std::size_t>(rank.value())] = shared;
  }
  return planned_mode_info(mode, run.inputs, costs);
}

}  // namespace

Result plan_run(const ResolvedRun& run) {
  Result result;
  result.complete = true;
  result.config_json = run.config.resolved_json;
  result.model = model_info(run.inputs);
  result.homes = home_infos(run.inputs);
  for (const std::string& name : run.config.modes) result.modes.push_back(plan_mode(mode_named(name), run));
  return result;
}

}  // namespace muonbench
