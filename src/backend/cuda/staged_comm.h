// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/backend.h"
#include "src/backend/cuda/cuda_device.h"

namespace muonbench::cuda {

/// Carries memory of `device` over a communicator of host memory, through page-locked areas. Nothing of it
/// knows which GPU the peers have, so several ranks may share one. nullptr makes nullptr.
///
/// start() returns once the data has left the device, and the own block is copied there; wait() waits on the
/// host. The communicator has one area each way, as large as its largest transfer, so two of its transfers
/// cannot be under way at a time: start() completes the one before. That waits for nothing but that transfer,
/// which all peers start first too.
[[nodiscard]] std::unique_ptr<Comm> make_staged_comm(CudaDevice& device, std::unique_ptr<Comm> host);

}  // namespace muonbench::cuda
