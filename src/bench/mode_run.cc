// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/mode_run.h"

#include "src/base/check.h"
#include "src/bench/environment.h"
#include "src/bench/rank_state.h"
#include "src/bench/watchdog.h"
#include "src/exec/device_range.h"
#include "src/exec/executor.h"

namespace muonbench {
namespace {

/// Compares what communicators counted over some steps with what the program says of one.
void check_traffic(const CommSet& comms, const TrafficCounters& before, const StepCounts& expected,
                   std::int64_t steps) {
  const TrafficCounters after = comms.counters();
  MUONBENCH_CHECK(after.collectives - before.collectives == expected.collectives * steps,
                  "{} collectives counted in {} steps, the program has {} a step",
                  after.collectives - before.collectives, steps, expected.collectives);
  MUONBENCH_CHECK(after.sent - before.sent == expected.sent * steps,
                  "{} B sent in {} steps, the program has {} B a step", (after.sent - before.sent).value(),
                  steps, expected.sent.value());
  MUONBENCH_CHECK(after.received - before.received == expected.received * steps,
                  "{} B received in {} steps, the program has {} B a step",
                  (after.received - before.received).value(), steps, expected.received.value());
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
  }

  ModeRun run() {
    const TrafficCounters before = context_.comms.counters();
    const std::int64_t steps = run_steps();
    check_traffic(context_.comms, before, run_.costs.counts, steps);
    run_.trace = tracer_.take();
    run_.process_peak_bytes = measured_peak_bytes(context_.device);

    expect("checking");
    if (settings_.verify && run_.ending == Ending::kAllSteps) {
      run_.checks = check_rows(state_, inputs_, values_);
      run_.masters = state_.read_master();
    }
    return std::move(run_);
  }

 private:
  void expect(const std::string& what) const { context_.expect(text("mode {}: {}", mode_.name, what)); }

  /// How many were run.
  std::int64_t run_steps() {
    const std::int64_t steps = std::int64_t{settings_.warmup_steps} + settings_.steps;
    std::int64_t step = 0;
    for (; step < steps; ++step) {
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

  void run_step(std::int64_t step) {
    const bool timed = step >= settings_.warmup_steps;
    const bool traced = timed && context_.tracing == Tracing::kOn;
    const PhaseTiming timing = settings_.timing == Timing::kPhases ? PhaseTiming::kOn : PhaseTiming::kOff;
    const std::string name = text("step {}", step);
    const DeviceRange range(context_.device, name.c_str());
    const StepTimes times =
        executor_.run_step(StepContext{step}, timing, traced ? tracer_.begin(step) : nullptr);
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
