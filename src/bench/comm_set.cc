// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/comm_set.h"

#include "src/base/check.h"

namespace muonbench {

CommSet::CommSet(const RankGrid& grid, WorldRank rank, const MakeComm& make) {
  for (const Family family : {Family::kDense, Family::kExpert}) {
    for (const AxisSet axes : all_axis_sets()) {
      const GroupKey key{family, axes};
      if (grid.canonical(key) == key && grid.group_size(key) > 1) comms_[key] = make(grid.members(key, rank));
    }
  }
}

CommTable CommSet::table() {
  return [this](GroupKey key) -> Comm& {
    const auto found = comms_.find(key);
    MUONBENCH_CHECK(found != comms_.end(), "no communicator over {}", name_of(key));
    return *found->second;
  };
}

TrafficCounters CommSet::counters() const {
  TrafficCounters sum;
  for (const auto& [key, comm] : comms_) sum += comm->counters();
  return sum;
}

}  // namespace muonbench
