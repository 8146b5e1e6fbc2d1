// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/cuda/cuda_device.h"

/// Work on lists of arrays, prepared: the lists and how they are cut into pieces stand in device memory.
namespace muonbench::cuda {

[[nodiscard]] std::unique_ptr<Kernel> prepare_momentum(CudaDevice& device, const BoundMomentum& work);
[[nodiscard]] std::unique_ptr<Kernel> prepare_update(CudaDevice& device, const BoundUpdate& work);
[[nodiscard]] std::unique_ptr<Kernel> prepare_adam(CudaDevice& device, const BoundAdam& work);
[[nodiscard]] std::unique_ptr<Kernel> prepare_copy(CudaDevice& device, BoundCopy work);
[[nodiscard]] std::unique_ptr<Kernel> prepare_zero_fill(CudaDevice& device, BoundZeroFill work);

}  // namespace muonbench::cuda
