// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/cuda/cuda_device.h"

namespace muonbench::cuda {

struct Multipliers;

/// A part of NS on slices of a batch of matrices, all of them together, by the kernels and products of
/// prepare_newton_schulz(), and with its refusals. The sums between the parts stay on the device.
[[nodiscard]] std::unique_ptr<Kernel> prepare_ns_slice(CudaDevice& device, Multipliers& multipliers,
                                                       BoundNsSlice work);

}  // namespace muonbench::cuda
