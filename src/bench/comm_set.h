// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "src/backend/backend.h"
#include "src/exec/executor.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Makes a communicator over `members` (world ranks, ascending). Collective over all world ranks: each calls
/// it with the members of its own group, in the same order of groups.
using MakeComm = std::function<std::unique_ptr<Comm>(const std::vector<WorldRank>& members)>;

/// One communicator per process group of more than one rank, all made up front, in one order, on every rank,
/// whatever it holds: making them when first needed would wait for ranks that never need them.
class CommSet {
 public:
  CommSet(const RankGrid& grid, WorldRank rank, const MakeComm& make);

  [[nodiscard]] CommTable table();
  /// Sum over all communicators of what they moved so far.
  [[nodiscard]] TrafficCounters counters() const;

 private:
  std::map<GroupKey, std::unique_ptr<Comm>> comms_;
};

}  // namespace muonbench
