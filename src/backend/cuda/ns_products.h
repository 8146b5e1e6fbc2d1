// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/cuda/cuda_device.h"
#include "src/backend/cuda/ns_kernels.h"
#include "src/ns/ns_slice.h"

namespace muonbench::cuda {

class MatmulPlan;
class SymmetricPlan;
struct Multipliers;

/// The products of NS on a batch of slices, which lie in a scratch, ns_scratch_layout().total elements apart:
/// all of them together in every product.
class NsProducts {
 public:
  /// Under syrk and gram, symmetric products as they are computed here are equal to their transposes bit for
  /// bit. What has no symmetric kernel (fp32; no has_halves()) is multiplied whole, and one triangle
  /// mirrored. Refuses (RuntimeFailure) algorithms that Capabilities do not list, options that say another
  /// storage or batching than they do, and more than 65535 slices.
  NsProducts(CudaDevice& device, Multipliers& multipliers, const NsSlice& slice, const NsOptions& options,
             void* scratch, int count);

  /// Of ns_stretches().
  [[nodiscard]] int stretches() const { return static_cast<int>(stretches_.size()); }
  /// X before stretch `stretch`: it and its successor take turns.
  [[nodiscard]] NsBatch iterate(int stretch) const;
  /// A of X.
  void enqueue_gram(int stretch, Queue queue) const;
  /// X after the stretch, from A.
  void enqueue_stretch(int stretch, Queue queue) const;

 private:
  /// A symmetric product of a batch, by whichever of the two there is.
  struct Square {
    const SymmetricPlan* half = nullptr;
    const MatmulPlan* whole = nullptr;
  };
  /// out <- alpha x y^T + beta addend, as `square` says.
  struct SquareOperands {
    void *x, *y;
    const void* addend;
    void* out;
    float alpha, beta;
  };
  void enqueue(const Square& square, const SquareOperands& operands, Queue queue) const;
  /// poly <- b A + c A A
  void enqueue_poly(const NsCoefficients& step, Queue queue) const;
  /// out <- a m + poly m of a symmetric m that commutes with it.
  void enqueue_times_step(void* m, double a, void* out, Queue queue) const;
  /// The steps of a stretch on A alone: what X is to be multiplied by.
  [[nodiscard]] void* enqueue_factor(const NsStretch& stretch, Queue queue) const;
  [[nodiscard]] const NsCoefficients& step(int index) const;
  [[nodiscard]] void* part(Elements offset) const;
  [[nodiscard]] NsBatch batch_of(void* first, std::int64_t elements) const;
  [[nodiscard]] NsBatch square_at(void* first) const;

  CudaDevice& device_;
  Multipliers& multipliers_;
  NsSlice slice_;
  std::vector<NsCoefficients> steps_;
  std::vector<NsStretch> stretches_;
  NsScratchLayout layout_;
  bool halves_;  ///< one triangle of symmetric products, mirrored
  DType storage_;
  Number number_;
  void* scratch_;
  int count_;
  // cuBLAS is column-major: it sees X (P, Q) as its transpose (Q, P), leading dimension Q, and A and B,
  // row-major too, as theirs.
  Square gram_;                          ///< A = X X^T, or X^T X
  Square squares_;                       ///< of matrices like A
  const MatmulPlan* next_ = nullptr;     ///< a X + B X, or a X + X B
  const MatmulPlan* product_ = nullptr;  ///< B X, or X B
};

}  // namespace muonbench::cuda
