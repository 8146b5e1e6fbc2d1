// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace muonbench {

/// Parts of a step that are timed and reported apart.
enum class Phase {
  kMomentum,
  kNsReplicated,
  kGather,  ///< duplicated and distributed: all_gather of the shards
  kStage1Forward,
  kStage2Forward,
  kNs,
  kGramReduce,  ///< distributed: what NS adds up over a group, between its parts
  kStage2Reverse,
  kStage1Reverse,
  kUpdate,
  kAdam,
  kParamGather,
  kGradReduce,  ///< before the step, and no part of it: gradients summed over replicas
};
inline constexpr int kPhaseCount = static_cast<int>(Phase::kGradReduce) + 1;
[[nodiscard]] std::string_view name_of(Phase phase);
/// True for phases that bring shards to where NS runs, or updates back.
[[nodiscard]] bool is_exchange(Phase phase);

}  // namespace muonbench
