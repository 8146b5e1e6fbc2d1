// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/bench/result.h"
#include "src/program/program.h"

namespace muonbench {

/// What a step costs one rank, without running it.
struct RankCosts {
  MemoryInfo memory;
  StepCounts counts;
};
[[nodiscard]] RankCosts costs_of(const StepProgram& program, const RankGrid& grid, WorldRank rank);

/// ns_calls of all ranks together, by what computes them: every algorithm's name but auto's.
[[nodiscard]] std::map<std::string, std::int64_t> calls_by_algorithm(const std::vector<RankCosts>& costs);

}  // namespace muonbench
