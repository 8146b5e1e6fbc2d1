// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/backend.h"
#include "src/backend/cuda/cuda_device.h"
#include "src/backend/mpi/mpi_runtime.h"

namespace muonbench::cuda {

/// One group of a partition of all ranks, over NCCL: collective over MPI_COMM_WORLD with the semantics of
/// make_mpi_comm, for memory of `device`, which must outlive it. One rank per GPU. Transfers run in a stream
/// of the communicator's own; the host waits for none of them. An error that shows while a transfer runs is
/// thrown from device.synchronize().
[[nodiscard]] std::unique_ptr<Comm> make_nccl_comm(CudaDevice& device, const MpiRuntime& runtime, int color,
                                                   int key);

}  // namespace muonbench::cuda
