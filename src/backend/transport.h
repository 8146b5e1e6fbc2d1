// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/backend/backend.h"
#include "src/backend/control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"

namespace muonbench {

/// Why `transport`, by the names of run.transport, cannot serve the ranks on these devices: one message for
/// all, on rank 0; empty if it can, and on other ranks. Collective. To be asked before the first make_comm,
/// which would hang or fail without naming the cause.
[[nodiscard]] std::string transport_refusal(std::string_view transport, const Device& device,
                                            const MpiRuntime& runtime, ControlPlane& control);

/// One group of a partition of all ranks, for memory of `device`; semantics of make_mpi_comm.
[[nodiscard]] std::unique_ptr<Comm> make_comm(std::string_view transport, Device& device,
                                              const MpiRuntime& runtime, int color, int key);

}  // namespace muonbench
