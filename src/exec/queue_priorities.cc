// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/exec/queue_priorities.h"

#include <algorithm>
#include <cstddef>

namespace muonbench {

std::vector<QueuePriority> queue_priorities(const StepProgram& program) {
  std::vector<QueuePriority> priorities(static_cast<std::size_t>(program.queues), QueuePriority::kHigh);
  for (const Op& op : program.ops)
    if (runs_ns(op)) priorities[static_cast<std::size_t>(op.queue)] = QueuePriority::kNormal;
  // Nothing to go before.
  if (std::ranges::find(priorities, QueuePriority::kNormal) == priorities.end())
    std::ranges::fill(priorities, QueuePriority::kNormal);
  return priorities;
}

}  // namespace muonbench
