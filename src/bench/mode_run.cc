// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/mode_run.h"

#include "src/base/check.h"
#include "src/bench/environment.h"
#include "src/bench/rank_state.h"
#include "src/bench/watchdog.h"
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

}  // namespace

ModeRun run_mode(const Mode& mode, const StepInputs& inputs, const RunSettings& settings,
                 const ValueSource& values, RankContext& context) {
  // Where the kernel refuses, the peak counts from the process's start: larger, never smaller.
  static_cast<void>(reset_process_peak());
  const StepProgram program = build_program(mode, inputs, context.rank);
  ModeRun run;
  run.costs = costs_of(program, inputs.grid, context.rank);

  const auto expect = [&](const std::string& what) { context.expect(text("mode {}: {}", mode.name, what)); };
  expect("preparing");
  Executor executor(program, context.device, context.comms.table());
  RankState state(program, inputs, context.rank, context.device, executor);
  state.initialise(values);

  const PhaseTiming timing = settings.timing == Timing::kPhases ? PhaseTiming::kOn : PhaseTiming::kOff;
  const std::int64_t steps = std::int64_t{settings.warmup_steps} + settings.steps;
  const TrafficCounters before = context.comms.counters();
  std::int64_t step = 0;
  for (; step < steps; ++step) {
    state.load_gradients(values, step);
    expect(text("step {}", step));
    if (context.interrupted()) {
      run.ending = Ending::kInterrupted;
      break;
    }
    if (context.progress != nullptr) context.progress->show(std::string(mode.name), step, steps);
    const StepTimes times = executor.run_step(StepContext{step}, timing);
    if (step == 0) run.first_step_seconds = times.seconds;
    if (step >= settings.warmup_steps) run.steps.push_back(times);
  }
  if (context.progress != nullptr) context.progress->clear();
  check_traffic(context.comms, before, run.costs.counts, step);
  run.process_peak_bytes = process_peak_bytes();

  expect("checking");
  if (settings.verify && run.ending == Ending::kAllSteps) {
    run.checks = check_rows(state, inputs, values);
    run.masters = state.read_master();
  }
  return run;
}

}  // namespace muonbench
