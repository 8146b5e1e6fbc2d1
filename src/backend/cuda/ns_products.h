// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/cuda/cuda_device.h"
#include "src/backend/cuda/ns_kernels.h"
#include "src/ns/ns_slice.h"

namespace muonbench::cuda {

class Matmul;
class MatmulPlan;

/// The products of NS on a batch of slices, which lie in a scratch, ns_scratch_layout(slice).total elements
/// apart: all of them together in every product.
class NsProducts {
 public:
  /// Refuses (RuntimeFailure) algorithms other than gemm, options that say another storage or batching than
  /// Capabilities do, and more than 65535 slices.
  NsProducts(CudaDevice& device, Matmul& matmul, const NsSlice& slice, const NsOptions& options,
             void* scratch, int count);

  /// X before step `step`: it and its successor take turns.
  [[nodiscard]] NsBatch iterate(int step) const;
  /// A of X.
  void enqueue_gram(int step, Queue queue) const;
  /// B, and X after the step.
  void enqueue_step(int step, const NsCoefficients& coefficients, Queue queue) const;

 private:
  [[nodiscard]] void* part(Elements offset) const;
  [[nodiscard]] NsBatch batch_of(void* first, std::int64_t elements) const;

  CudaDevice& device_;
  Matmul& matmul_;
  NsSlice slice_;
  NsScratchLayout layout_;
  DType storage_;
  void* scratch_;
  int count_;
  // cuBLAS is column-major: it sees X (P, Q) as its transpose (Q, P), leading dimension Q, and A and B,
  // row-major too, as theirs.
  const MatmulPlan* gram_ = nullptr;  ///< A = X X^T, or X^T X
  const MatmulPlan* poly_ = nullptr;  ///< b A + c A A
  const MatmulPlan* next_ = nullptr;  ///< a X + B X, or a X + X B
};

}  // namespace muonbench::cuda
