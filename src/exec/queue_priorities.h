// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/backend/device.h"
#include "src/program/program.h"

namespace muonbench {

/// By queue of the program. Where NS has queues of its own, the others have high priority: their passes over
/// memory are done soon, but beside products that fill the device they, and what travels behind them, would
/// come when NS is over. A queue on which some NS runs, as that of weights which are spread, does not.
[[nodiscard]] std::vector<QueuePriority> queue_priorities(const StepProgram& program);

}  // namespace muonbench
