// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "src/backend/control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/base/error.h"
#include "src/bench/interrupt.h"
#include "src/bench/watchdog.h"
#include "src/cli/arguments.h"

namespace muonbench {

/// Each is collective over all ranks and returns the same code on all of them. A RuntimeFailure may escape on
/// one rank alone: the caller then ends the job. The watchdog, started as soon as its time is known, still
/// watches when the command returns: for the end of MPI.
[[nodiscard]] ExitCode run_command(const Arguments& own, const MpiRuntime& runtime, ControlPlane& control,
                                   Interrupt& interrupt, std::optional<Watchdog>& watchdog);
[[nodiscard]] ExitCode golden_command(const Arguments& own, const MpiRuntime& runtime, ControlPlane& control);

/// Without MPI, in this process alone. Both throw ConfigError, or RuntimeFailure if the output cannot be
/// written.
[[nodiscard]] ExitCode plan_command(const Arguments& arguments);
[[nodiscard]] ExitCode models_command(const Arguments& arguments);

}  // namespace muonbench
