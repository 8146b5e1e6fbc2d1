// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/backend/backend.h"
#include "src/program/program.h"

namespace muonbench {

/// What the queue of consecutive ops of one phase was busy with, in seconds since the step began.
struct PhaseSpan {
  Phase phase = Phase::kMomentum;
  int queue = 0;
  double begin = 0.0;
  double end = 0.0;       ///< not after the next span of the queue begins
  double complete = 0.0;  ///< when the last of its collectives was done, which may be under way behind `end`
  std::int64_t ops = 0;
  std::int64_t collectives = 0;
  Bytes sent, received;
};

/// When an op ran on its queue, in seconds since the step began.
struct OpTime {
  double begin = 0.0, end = 0.0;
};

/// Spans of a step, in program order: consecutive ops of one phase on one queue are one span. `wire` holds
/// the bytes of each op.
[[nodiscard]] std::vector<PhaseSpan> phase_spans(const StepProgram& program, const std::vector<OpTime>& times,
                                                 const std::vector<WireBytes>& wire);

/// Takes down when the ops of a step run, by the device's own clock.
class StepRecorder {
 public:
  /// All arguments must outlive the recorder.
  StepRecorder(const StepProgram& program, Device& device) : program_(program), device_(device) {}

  void begin_step();
  void starts(int op, Queue queue);
  void completes(int op, Queue queue);
  /// By op; the device must have been drained.
  [[nodiscard]] std::vector<OpTime> times();

 private:
  struct Moments {
    std::optional<Event> begin, end;
  };
  const StepProgram& program_;
  Device& device_;
  std::vector<Moments> moments_;
};

}  // namespace muonbench
