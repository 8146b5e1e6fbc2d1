// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/config/words.h"
#include "src/plan/param_groups.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Whether queues of a device may run beside one another.
enum class QueueUse { kConcurrent, kBackendRunsInTurn, kSwitchedOff };

/// Whether NS of some weights is spread, so that Gram matrices are added up over each axis.
enum class GramSums { kNone, kOverAxes };

/// On which queue of a device each param group's pipeline goes.
struct GroupQueues {
  std::vector<int> of_group = {};  ///< by index of the group; empty: all on queue 0
  int count = 1;
  std::string why = {};  ///< which groups go one after the other and for what reason

  int ns_offset = 0;  ///< from a pipeline's queue to that of its NS, beside which other waves travel

  /// Each pipeline gets a queue more, for its NS.
  void put_ns_beside() { ns_offset = count; }

  [[nodiscard]] int queue_of(std::size_t group) const { return of_group.empty() ? 0 : of_group.at(group); }
  [[nodiscard]] int ns_queue_of(std::size_t group) const { return queue_of(group) + ns_offset; }
  [[nodiscard]] bool concurrent() const { return count > 1; }
};

/// Queues in order of their first group. Groups that share a communicator on either axis share a queue, where
/// they go in group order: collectives of one communicator may not overlap. A domain of one rank has no
/// communicator. Without concurrency all go on queue 0. `backend` is the word for it in `why`.
[[nodiscard]] GroupQueues queue_groups(const std::vector<ParamGroup>& groups, const RankGrid& grid,
                                       QueueUse use, const std::string& backend,
                                       ExchangeWay way = ExchangeWay::kTwoStage,
                                       GramSums sums = GramSums::kNone);

}  // namespace muonbench
