// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/plan_run.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "src/bench/collect.h"
#include "src/bench/rank_classes.h"
#include "src/bench/stats.h"

namespace muonbench {
namespace {

/// Calls `work` with 0 ... count - 1, on as many threads as there are cores. The first exception of any is
/// thrown.
void for_each_index(std::size_t count, const std::function<void(std::size_t)>& work) {
  const std::size_t threads =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, std::max<std::size_t>(count, 1));
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> running;
  running.reserve(threads);
  for (std::size_t t = 0; t < threads; ++t) {
    running.push_back(std::async(std::launch::async, [&] {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    }));
  }
  for (std::future<void>& one : running) one.get();
}

ModeInfo plan_mode(const Mode& mode, const ResolvedRun& run) {
  std::vector<RankCosts> costs(static_cast<std::size_t>(run.grid.world_size()));
  const std::vector<RankClass> classes = rank_classes(run.inputs, mode.costs);
  for_each_index(classes.size(), [&](std::size_t i) {
    const StepProgram program = build_program(mode, run.inputs, classes[i].representative, Order::kLeftOut);
    const RankCosts shared = costs_of(program, run.grid, classes[i].representative);
    for (const WorldRank rank : classes[i].members) costs[static_cast<std::size_t>(rank.value())] = shared;
  });
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
