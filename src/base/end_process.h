// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/error.h"

namespace muonbench {

/// Closes this process's connection to the launcher, if the launcher told where it listens. True if there was
/// one. MPI cannot be used any more then.
bool leave_launcher();

/// Ends this process from any thread and without clean-up: another thread may hold a lock that a destructor
/// or MPI_Finalize would wait for. The launcher sees an unclean exit and ends the other ranks.
///
/// Open MPI's launcher (4.1 with PMIx 4.2) may crash or lock up when it learns that a rank's connection broke
/// while it is ending already. So this leaves it first, and gives it a moment to see that.
[[noreturn]] void end_process(ExitCode code);

}  // namespace muonbench
