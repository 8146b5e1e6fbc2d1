// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/cuda/matmul.h"
#include "src/backend/cuda/symmetric_matmul.h"

namespace muonbench::cuda {

/// What multiplies matrices on a device.
struct Multipliers {
  explicit Multipliers(const CudaDevice& device) : symmetric(device) {}
  Matmul general;
  SymmetricMatmul symmetric;
};

}  // namespace muonbench::cuda
