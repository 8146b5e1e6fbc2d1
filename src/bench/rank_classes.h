// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/program/modes.h"

namespace muonbench {

/// Ranks whose programs cost the same in a mode: shards of equal shapes in equal order, equal parts in their
/// exchanges, and equal shares of every parameter whose rows are dealt out. Thousands of ranks fall into few
/// classes, so a plan builds one program for each class, not for each rank.
struct RankClass {
  WorldRank representative;  ///< the lowest member
  std::vector<WorldRank> members;
};

/// Every world rank is in exactly one class; classes by representative, ascending.
[[nodiscard]] std::vector<RankClass> rank_classes(const StepInputs& inputs, CostsDependOn costs);

}  // namespace muonbench
