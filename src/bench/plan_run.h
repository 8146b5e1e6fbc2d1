// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/bench/resolve.h"
#include "src/bench/result.h"

namespace muonbench {

/// The result that a run of this configuration would have, every measured field unknown: memory, NS work,
/// collectives and bytes of each rank, from its programs. One process, any world size, no MPI, no device.
[[nodiscard]] Result plan_run(const ResolvedRun& run);

}  // namespace muonbench
