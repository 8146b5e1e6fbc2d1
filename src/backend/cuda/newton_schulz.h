// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/cuda/cuda_device.h"

namespace muonbench::cuda {

/// NS of a batch of matrices of one shape, all of them together in every product. Two passes of this
/// backend's own kernels bring a matrix into X and one takes the result out; products have sums such
/// as b A + c A A and a X + B X as their epilogues. Small work is recorded as a CUDA graph by
/// make_ready(), and replayed. Refuses (RuntimeFailure): algorithms that Capabilities do not list; options
/// that say another storage or batching than they do; more than 65535 matrices.
[[nodiscard]] std::unique_ptr<Kernel> prepare_newton_schulz(CudaDevice& device, Multipliers& multipliers,
                                                            BoundNewtonSchulz work);

}  // namespace muonbench::cuda
