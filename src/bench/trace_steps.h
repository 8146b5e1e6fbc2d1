// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/backend/control_plane.h"
#include "src/bench/trace.h"
#include "src/exec/step_recorder.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

enum class Tracing { kOff, kOn };

/// One step of this rank.
struct RankStepTrace {
  std::int64_t step = 0;
  double clock_seconds = 0;  ///< of the host's monotonic clock when the step began
  double seconds = 0;
  std::vector<PhaseSpan> spans;
};

/// Takes down the timed steps of one mode on this rank.
class StepTracer {
 public:
  /// All arguments must outlive the tracer.
  StepTracer(const StepProgram& program, const RankGrid& grid, WorldRank rank, Device& device);

  /// The step that begins now.
  [[nodiscard]] StepRecorder* begin(std::int64_t step);
  void end(double seconds);
  [[nodiscard]] std::vector<RankStepTrace> take() { return std::move(steps_); }

 private:
  const StepProgram& program_;
  StepRecorder recorder_;
  std::vector<WireBytes> wire_;  ///< by op
  std::vector<RankStepTrace> steps_;
};

/// Puts one mode's steps of all ranks into `trace`, on rank 0 alone. Collective; one step after the other, so
/// that no message holds a whole run.
class TraceCollector {
 public:
  TraceCollector(Trace trace, ControlPlane& control) : trace_(std::move(trace)), control_(control) {}

  void add(std::string_view mode, const std::vector<RankStepTrace>& mine);
  /// Complete on rank 0 alone.
  [[nodiscard]] Trace take() { return std::move(trace_); }

 private:
  void add_step(std::string_view mode, std::int64_t step, const std::vector<std::string>& by_rank);

  Trace trace_;
  ControlPlane& control_;
  std::optional<double> origin_;  ///< rank 0's clock at the first traced step
};

}  // namespace muonbench
