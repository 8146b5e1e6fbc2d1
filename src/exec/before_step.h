// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "src/exec/executor.h"

namespace muonbench {

/// What a program has to do before its step, bound to the memory of the program's executor: collectives, one
/// after the other.
class BeforeStep {
 public:
  /// All arguments, and what `comms` returns, must outlive it.
  BeforeStep(const StepProgram& program, const Executor& executor, Device& device, const CommTable& comms);
  BeforeStep(const BeforeStep&) = delete;
  BeforeStep& operator=(const BeforeStep&) = delete;
  ~BeforeStep() { device_.release(queue_); }

  /// Runs all and drains the device; the seconds that took, none where there is nothing to run.
  double run();

 private:
  Device& device_;
  Queue queue_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace muonbench
