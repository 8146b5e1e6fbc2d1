// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/backend/cuda/number.h"

/// What NS does besides its products, on a batch of matrices of `elements` elements each. The iterate X of
/// matrix i lies at x + i * stride numbers.
namespace muonbench::cuda {

/// A batch of iterates.
struct NsBatch {
  void* x = nullptr;
  Number number = Number::kFp32;
  std::int64_t elements = 0;
  std::int64_t stride = 0;
  int count = 0;
};

/// Doubles that launch_normalise needs for one matrix of a batch; a function of the matrix alone, so that its
/// bits do not depend on what it is batched with.
[[nodiscard]] std::int64_t norm_parts(std::int64_t elements);

/// X <- in / max(norm, smallest norm), rounded to fp32 and then to its numbers; NaN throughout where the norm
/// is not finite. `in`: device array of batch.count pointers; `parts`: batch.count * norm_parts() doubles.
/// The norm is taken in double: any finite fp32 matrix has one.
void launch_normalise(const float* const* in, double* parts, const NsBatch& batch, cudaStream_t stream);

/// The two passes of it apart: sums[i] <- the sum of squares of matrix i, in double and then rounded to fp32;
/// and X from sums that may have been added up with others'. `sums`: batch.count numbers.
void launch_sums_of_squares(const float* const* in, double* parts, float* sums, const NsBatch& batch,
                            cudaStream_t stream);
void launch_normalise_by_sums(const float* const* in, const float* sums, const NsBatch& batch,
                              cudaStream_t stream);

/// out <- (X * first) * second, rounded twice; X of fp16 is rounded to bf16 before, which is what NS in 16
/// bits ends in. `out`: device array of batch.count pointers.
void launch_scale_out(float* const* out, const NsBatch& batch, float first, float second,
                      cudaStream_t stream);

/// Of each (side, side) matrix of a batch, what is above the diagonal <- what is below it.
void launch_mirror(const NsBatch& batch, std::int64_t side, cudaStream_t stream);

/// target <- factor * source of the same batch layout and numbers, rounded once.
void launch_scaled_copy(const NsBatch& source, void* target, float factor, cudaStream_t stream);

/// target <- source + value * identity of the same batch layout and numbers, rounded once: (side, side)
/// matrices.
void launch_add_to_diagonal(const NsBatch& source, std::int64_t side, void* target, float value,
                            cudaStream_t stream);

}  // namespace muonbench::cuda
