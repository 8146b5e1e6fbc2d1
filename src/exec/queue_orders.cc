// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/exec/queue_orders.h"

#include <algorithm>
#include <cstddef>

namespace muonbench {

std::vector<QueueOrder> queue_orders(const StepProgram& program) {
  std::vector<QueueOrder> orders(static_cast<std::size_t>(program.queues), QueueOrder::kFirst);
  for (const Op& op : program.ops)
    if (runs_ns(op)) orders[static_cast<std::size_t>(op.queue)] = QueueOrder::kNormal;
  // Nothing to go before.
  if (std::ranges::find(orders, QueueOrder::kNormal) == orders.end())
    std::ranges::fill(orders, QueueOrder::kNormal);
  return orders;
}

}  // namespace muonbench
