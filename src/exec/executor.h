// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/backend/backend.h"
#include "src/exec/step_recorder.h"
#include "src/program/program.h"

namespace muonbench {

/// The communicators of one rank, by process group. Groups of one rank have none.
using CommTable = std::function<Comm&(GroupKey)>;

/// Seconds of one step on this rank.
struct StepTimes {
  double seconds = 0.0;
  /// Filled under PhaseTiming::kOn alone, but for what runs before the step.
  std::array<double, kPhaseCount> phases{};
};

/// kOn: the device is drained where one phase ends and the next begins, so that phases sum to the step, at
/// the price of overlap. kOff: nothing is synchronised within a step.
enum class PhaseTiming { kOff, kOn };

/// A program bound to memory, kernels and communicators of one rank. Binding allocates and prepares
/// everything; a step only enqueues. Knows ops, queues and buffers, not what a home or a stage is.
class Executor {
 public:
  /// `program`, `device` and what `comms` returns must outlive the executor.
  Executor(const StepProgram& program, Device& device, const CommTable& comms);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  /// Runs one step and drains the device. `recorder`: takes down when each op runs; none: nothing does, and
  /// nothing is added to the step.
  StepTimes run_step(const StepContext& context, PhaseTiming timing, StepRecorder* recorder = nullptr);

  /// Device address of a buffer; for filling and reading state between steps.
  [[nodiscard]] void* data(BufferId buffer) const;

 private:
  struct BoundOp;
  /// Consecutive ops of one phase: [begin, end).
  struct PhaseRun {
    Phase phase = Phase::kMomentum;
    int begin = 0, end = 0;
  };
  void bind_buffers();
  void bind_ops(const CommTable& comms);
  void find_phases();
  [[nodiscard]] Queue queue_of(int op) const;
  void complete_before(int op);
  void complete(int op, Queue queue);
  void start(int op, const StepContext& context);
  void enqueue(const PhaseRun& run, const StepContext& context);
  void drain();

  const StepProgram& program_;
  Device& device_;
  std::vector<Buffer> memory_;
  std::vector<void*> addresses_;
  std::vector<Queue> queues_;
  std::vector<BoundOp> bound_;
  std::vector<PhaseRun> phases_;
  StepRecorder* recorder_ = nullptr;  ///< of the step under way
};

}  // namespace muonbench
