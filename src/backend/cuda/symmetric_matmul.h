// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "src/backend/cuda/cuda_device.h"
#include "src/backend/cuda/number.h"
#include "src/backend/cuda/symmetric_tiles.h"
#include "src/ns/ns_slice.h"

namespace muonbench::cuda {

/// D <- alpha X Y^T + beta C (side kRows), or alpha X^T Y + beta C (kColumns), on a batch of row-major X and
/// Y without gaps. The product is symmetric: Y is X, or both are symmetric and commute. C and D are (m, m), m
/// the Gram side of X. Matrix i of each lies i * stride elements after the first.
struct SymmetricProduct {
  NsSlice x;
  std::int64_t stride = 0;
  int batch = 1;
  Number number = Number::kBf16;            ///< or kFp16
  std::optional<SymmetricKernel> kernel{};  ///< the faster one if none is named
  friend auto operator<=>(const SymmetricProduct&, const SymmetricProduct&) = default;
};

/// One product with its tiles.
class SymmetricPlan;

/// Symmetric products of 16-bit matrices, of which one triangle is computed and mirrored: about half the
/// operations of Matmul's. A matrix has the same bits in whatever batch: they are sums in one order, whatever
/// tile they are in.
class SymmetricMatmul {
 public:
  /// `device` outlives this.
  explicit SymmetricMatmul(const CudaDevice& device);
  ~SymmetricMatmul();
  SymmetricMatmul(const SymmetricMatmul&) = delete;
  SymmetricMatmul& operator=(const SymmetricMatmul&) = delete;

  /// has_halves(), and matrices that begin at a multiple of 16 bytes.
  [[nodiscard]] static bool takes(const SymmetricProduct& product);
  /// Lives as long as this. Throws RuntimeFailure where the device has no such kernel, or for a product that
  /// is not taken.
  [[nodiscard]] const SymmetricPlan& plan(const SymmetricProduct& product);

  /// C is read where beta is not 0; it is symmetric then, and D is another. D is neither X nor Y.
  struct Operands {
    void* x = nullptr;
    void* y = nullptr;
    const void* c = nullptr;
    void* d = nullptr;
    float alpha = 1.0F, beta = 0.0F;
  };
  void enqueue(const SymmetricPlan& plan, const Operands& operands, cudaStream_t stream) const;

 private:
  const CudaDevice& device_;
  int multiprocessors_ = 0;
  std::map<SymmetricProduct, std::unique_ptr<SymmetricPlan>> plans_;
};

}  // namespace muonbench::cuda
