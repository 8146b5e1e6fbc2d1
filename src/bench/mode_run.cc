// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/mode_run.h"

#include <algorithm>

#include "src/base/check.h"
#include "src/bench/environment.h"
#include "src/bench/rank_state.h"
#include "src/bench/watchdog.h"
#include "src/exec/before_step.h"
#include "src/exec/device_range.h"
#include "src/exec/executor.h"

namespace muonbench {
namespace {

/// Compares what communicators counted over some runs of `what`, "steps", with what the program says of one.
void check_traffic(const TrafficCounters& counted, const StepCounts& expected, std::int64_t runs,
                   std::string_view what) {
  MUONBENCH_CHECK(counted.collectives == expected.collectives * runs,
                  "{} collectives counted in {} {}, the program has {} in each", counted.collectives, runs,
                  what, expected.collectives);
  MUONBENCH_CHECK(counted.sent == expected.sent * runs, "{} B sent in {} {}, the program has {} B in each",
                  counted.sent.value(), runs, what, expected.sent.value());
  MUONBENCH_CHECK(counted.received == expected.received * runs,
                  "{} B received in {} {}, the program has {} B in each", counted.received.value(), runs,
                  what, expected.received.value());
}

/// Whether gradients are summed over replicas: the same on all ranks, whatever each of them holds.
bool has_replicas(const RankGrid& grid) {
  return grid.data_parallel(Family::kDense) > 1 || grid.data_parallel(Family::kExpert) > 1;
}

/// A device with memory of its own knows its peak; elsewhere it is the process's.
std::optional<std::int64_t> measured_peak_bytes(const Device& device) {
  if (const std::optional<Bytes> peak = device.peak_allocated()) return peak->value();
  return process_peak_bytes();
}

/// A mode's program, bound on this rank.
class BoundMode {
 public:
  BoundMode(const Mode& mode, const StepInputs& inputs, const RunSettings& settings,
            const ValueSource& values, RankContext& context)
      : mode_(mode),
        inputs_(inputs),
        settings_(settings),
        values_(values),
        context_(context),
        program_(build_program(mode, inputs, context.rank)),
        executor_(program_, context.device, context.comms.table()),
        state_(program_, inputs, context.rank, context.device, executor_),
        tracer_(program_, inputs.grid, context.rank, context.device) {
    state_.initialise(values);
    run_.costs = costs_of(program_, inputs.grid, context.rank);
    // Nothing but the phases' times would show that it ran.
    if (settings.timing == Timing::kPhases && has_replicas(inputs.grid))
      before_step_.emplace(program_, executor_, context.device, context.comms.table());
  }

  ModeRun run() {
    const TrafficCounters before = context_.comms.counters();
    std::int64_t steps = run_steps();
    run_.trace = tracer_.take();
    run_.process_peak_bytes = measured_peak_bytes(context_.device);

    expect("checking");
    if (settings_.verify && run_.ending == Ending::kAllSteps) {
      run_.checks = check_rows(state_, inputs_, values_);
      run_.masters = state_.read_master();
    }
    if (settings_.timing == Timing::kPhases && mode_.muon == MuonUse::kMuon) steps += run_overlapped(steps);
    check_traffic(context_.comms.counters() - before - reduced_, run_.costs.counts, steps, "steps");
    check_traffic(reduced_, count_before_step(program_, inputs_.grid, context_.rank), reductions_,
                  "reductions of gradients");
    return std::move(run_);
  }

 private:
  void expect(const std::string& what) const { context_.expect(text("mode {}: {}", mode_.name, what)); }

  /// How many were run.
  std::int64_t run_steps() {
    const std::int64_t steps = std::int64_t{settings_.warmup_steps} + settings_.steps;
    std::int64_t step = 0;
    for (; step < steps; ++step) {
      if (before_step_) reduce_gradients(step);
      // Values are functions of their place, equal on all replicas: the sums give way to them.
      state_.load_gradients(values_, step);
      expect(text("step {}", step));
      if (context_.interrupted()) {
        run_.ending = Ending::kInterrupted;
        break;
      }
      if (context_.progress != nullptr) context_.progress->show(std::string(mode_.name), step, steps);
      run_step(step);
    }
    if (context_.progress != nullptr) context_.progress->clear();
    return step;
  }

  /// From step `first` on. How many were run.
  std::int64_t run_overlapped(std::int64_t first) {
    const std::int64_t steps = std::min(settings_.steps, kMostOverlapped);
    std::int64_t step = 0;
    for (; step < steps && run_.ending == Ending::kAllSteps && !context_.interrupted(); ++step) {
      state_.load_gradients(values_, first + step);
      expect(text("step {}, not drained between phases", first + step));
      run_.overlapped.push_back(
          executor_.run_step(StepContext{first + step}, PhaseTiming::kOff, nullptr).seconds);
    }
    return step;
  }

  /// Of the step before: how long it takes depends on sizes alone.
  void reduce_gradients(std::int64_t step) {
    expect(text("reduction of gradients before step {}", step));
    const TrafficCounters before = context_.comms.counters();
    context_.control.barrier();
    reduce_seconds_ = before_step_->run();
    reduced_ += context_.comms.counters() - before;
    ++reductions_;
  }

  void run_step(std::int64_t step) {
    const bool timed = step >= settings_.warmup_steps;
    const bool traced = timed && context_.tracing == Tracing::kOn;
    const PhaseTiming timing = settings_.timing == Timing::kPhases ? PhaseTiming::kOn : PhaseTiming::kOff;
    const std::string name = text("step {}", step);
    const DeviceRange range(context_.device, name.c_str());
    StepTimes times = executor_.run_step(StepContext{step}, timing, traced ? tracer_.begin(step) : nullptr);
    times.phases[static_cast<std::size_t>(Phase::kGradReduce)] = reduce_seconds_;
    if (traced) tracer_.end(times.seconds);
    if (step == 0) run_.first_step_seconds = times.seconds;
    if (timed) run_.steps.push_back(times);
  }

  const Mode& mode_;
  const StepInputs& inputs_;
  const RunSettings& settings_;
  const ValueSource& values_;
  RankContext& context_;
  StepProgram program_;
  Executor executor_;
  std::optional<BeforeStep> before_step_;  ///< where gradients are reduced and phases timed
  double reduce_seconds_ = 0.0;            ///< before the last step
  TrafficCounters reduced_;                ///< by all reductions
  std::int64_t reductions_ = 0;
  RankState state_;
  StepTracer tracer_;
  ModeRun run_;
};

}  // namespace

ModeRun run_mode(const Mode& mode, const StepInputs& inputs, const RunSettings& settings,
                 const ValueSource& values, RankContext& context) {
  // Where the kernel refuses, the peak counts from the process's start: larger, never smaller.
  static_cast<void>(reset_process_peak());
  context.device.reset_peak();
  context.expect(text("mode {}: preparing", mode.name));
  const DeviceRange range(context.device, mode.name.data());
  return BoundMode(mode, inputs, settings, values, context).run();
}

}  // namespace muonbench
