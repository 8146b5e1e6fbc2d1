// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/bench/result.h"
#include "src/program/program.h"

namespace muonbench {

/// What a step costs one rank, without running it.
struct RankCosts {
  MemoryInfo memory;
  StepCounts counts;
};
[[nodiscard]] RankCosts costs_of(const StepProgram& program, const RankGrid& grid, WorldRank rank);

}  // namespace muonbench
