// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The seam: everything that differs by device or by wire, nothing that knows what a home, a stage or a
/// parameter is. Work is prepared once, when a program is bound to memory, and then only enqueued: a step
/// allocates and decides nothing. All calls may throw RuntimeFailure, which names the failed library call and
/// its text.
#include "src/backend/comm.h"    // IWYU pragma: export
#include "src/backend/device.h"  // IWYU pragma: export
#include "src/backend/work.h"    // IWYU pragma: export
