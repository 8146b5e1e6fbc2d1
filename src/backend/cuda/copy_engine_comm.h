// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/backend.h"
#include "src/backend/cuda/cuda_device.h"

namespace muonbench::cuda {

/// Blocks from GPU to GPU of one host by their copy engines, which leave the multiprocessors to NS: each rank
/// writes its blocks into the memory of its peers, mapped by CUDA IPC. `host`: a communicator of host memory
/// over the group, by which addresses are told; `sums`: one of device memory over the same group, which
/// carries all_reduce and reduce_scatter. Blocks are received in memory of use exchange. nullptr makes
/// nullptr. Preparing a transfer and destroying it are collective over the group, as is destroying the
/// communicator. Throws RuntimeFailure where memory of a peer cannot be mapped.
[[nodiscard]] std::unique_ptr<Comm> make_copy_engine_comm(CudaDevice& device, std::unique_ptr<Comm> host,
                                                          std::unique_ptr<Comm> sums);

}  // namespace muonbench::cuda
