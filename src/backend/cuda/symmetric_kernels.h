// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "src/backend/cuda/number.h"
#include "src/backend/cuda/symmetric_tiles.h"

namespace muonbench::cuda {

/// D <- alpha X Y^T + beta C, or alpha X^T Y + beta C, on a batch; everything bf16 or fp16, sums in fp32,
/// rounded once. C and the product are symmetric: Y is X, or both are symmetric and commute. Of D the lower
/// triangle is computed and mirrored. X, Y, C and D are row-major; X, Y and D are what the maps say, boxes of
/// kBoxSide a side, swizzled by 128 bytes: (batch, row, column) from the slowest.
struct SymmetricLaunch {
  CUtensorMap operand{}, other{}, result{};
  Number number = Number::kBf16;  ///< or kFp16
  SymmetricKernel kernel = SymmetricKernel::kInTurns;
  bool summed_over_rows = false;                ///< X^T Y
  const SymmetricTiles::Tile* tiles = nullptr;  ///< in device memory
  int tiles_of_matrix = 0, batch = 0;
  int steps = 0;  ///< boxes along the sum
  int side = 0;   ///< of D
  float alpha = 1.0F, beta = 0.0F;
  const void* addend = nullptr;  ///< C, if beta is not 0: rows of `side` numbers without gaps
  std::int64_t addend_stride = 0;
};
void launch_symmetric(const SymmetricLaunch& launch, int multiprocessors, cudaStream_t stream);

/// Once per device, before any launch: what a launch needs and a stream that records must not ask for.
void prepare_symmetric_kernels();

/// Whether this program has that kernel for the current device: it was built for 90a, and the device is such
/// a one.
[[nodiscard]] bool has_symmetric_kernels();

}  // namespace muonbench::cuda
