// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/backend/backend.h"
#include "src/backend/control_plane.h"
#include "src/bench/comm_set.h"
#include "src/bench/progress.h"
#include "src/bench/rank_costs.h"
#include "src/bench/trace_steps.h"
#include "src/bench/value_source.h"
#include "src/bench/verify.h"
#include "src/bench/watchdog.h"
#include "src/config/run_config.h"
#include "src/program/modes.h"

namespace muonbench {

/// What a rank has at hand to run programs. Everything must outlive its users.
struct RankContext {
  WorldRank rank;
  Device& device;
  CommSet& comms;
  ControlPlane& control;
  Watchdog* watchdog = nullptr;                  ///< none: nothing is timed out
  const std::atomic<bool>* interrupt = nullptr;  ///< none: nothing interrupts
  Progress* progress = nullptr;                  ///< none: nothing is shown
  Tracing tracing = Tracing::kOff;

  /// From now on the watchdog's clock runs for `what`.
  void expect(const std::string& what) const {
    if (watchdog != nullptr) watchdog->expect(what);
  }
  /// Collective: true on all ranks if any of them was asked to stop.
  [[nodiscard]] bool interrupted() const {
    const bool mine = interrupt != nullptr && *interrupt;
    return control.max({mine ? 1.0 : 0.0}).front() > 0.0;
  }
};

/// How far a mode got.
enum class Ending { kAllSteps, kInterrupted };

/// What a run of one mode left behind on this rank.
struct ModeRun {
  RankCosts costs;
  std::optional<std::int64_t> process_peak_bytes;
  std::optional<double> first_step_seconds;
  Ending ending = Ending::kAllSteps;
  std::vector<StepTimes> steps;      ///< timed steps
  std::vector<double> overlapped;    ///< seconds of steps in which no phase waits for another, see run_mode()
  std::vector<RankStepTrace> trace;  ///< of the timed steps, if they were traced
  std::vector<RowCheck> checks;      ///< empty unless verified
  std::vector<MasterRows> masters;   ///< empty unless verified: the final master copies
};

/// Builds the mode's program for this rank, runs warm-up and timed steps, and reads the state back if
/// run.verify. Ranks start each step together (a barrier outside the timed part); gradients are made before
/// it, and under timing phases summed over replicas before that. Throws RuntimeFailure if a step moved other
/// bytes or made other collectives than the program says.
///
/// Under timing phases a mode with NS goes on for as many steps, at most kMostOverlapped, after the state was
/// read back: without draining the device between phases, so that what overlaps shows.
inline constexpr int kMostOverlapped = 10;
[[nodiscard]] ModeRun run_mode(const Mode& mode, const StepInputs& inputs, const RunSettings& settings,
                               const ValueSource& values, RankContext& context);

}  // namespace muonbench
