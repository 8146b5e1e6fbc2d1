// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/exec/before_step.h"

#include <chrono>

#include "src/base/check.h"
#include "src/exec/bind.h"
#include "src/exec/device_range.h"

namespace muonbench {

BeforeStep::BeforeStep(const StepProgram& program, const Executor& executor, Device& device,
                       const CommTable& comms)
    : device_(device), queue_(device.make_queue()) {
  Addresses addresses;
  for (int i = 0; i < static_cast<int>(program.buffers.size()); ++i)
    addresses.push_back(executor.data(BufferId{i}));
  for (const Op& op : program.before_step) {
    const auto group = group_of(op);
    MUONBENCH_CHECK(group.has_value(), "local work before a step");
    Prepared prepared = prepare_op(program, op, addresses, device_, &comms(*group));
    transfers_.push_back(std::move(std::get<std::unique_ptr<Transfer>>(prepared)));
  }
}

double BeforeStep::run() {
  if (transfers_.empty()) return 0.0;
  const DeviceRange range(device_, name_of(Phase::kGradReduce).data());
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& transfer : transfers_) {
    transfer->start(queue_);
    transfer->wait(queue_);
  }
  device_.synchronize(queue_);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace muonbench
