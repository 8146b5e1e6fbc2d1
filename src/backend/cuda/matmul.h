// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "src/backend/cuda/cuda_resources.h"
#include "src/backend/cuda/number.h"
#include "src/ns/ns_options.h"

namespace muonbench::cuda {

/// What is added to a product: nothing (beta 0, C is not read), or beta times C.
enum class Addend { kNone, kC };

/// D <- alpha op(A) op(B) + beta C on a batch, column-major as cuBLAS has it: op(A) is (m, k), op(B) (k, n),
/// C and D (m, n). Matrix i of each operand lies i * stride elements after the first.
struct Product {
  MatmulPrecision precision = MatmulPrecision::kMedium;
  Number number = Number::kFp32;
  bool transpose_a = false, transpose_b = false;
  bool symmetric_b = false;  ///< B stands for its transpose as well: either may be read
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  std::int64_t stride = 0;
  int batch = 1;
  Addend addend = Addend::kNone;
  friend auto operator<=>(const Product&, const Product&) = default;
};

/// Bytes of workspace that any product may use.
inline constexpr std::size_t kMatmulWorkspace = std::size_t{32} << 20U;

/// One product with its algorithm, chosen once: the same shape has the same algorithm and so the same bits in
/// every mode, on every queue and on every rank with such a device.
class MatmulPlan;

/// Products by cuBLASLt.
class Matmul {
 public:
  Matmul();
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  /// Lives as long as this. Throws RuntimeFailure where cuBLASLt has no algorithm.
  [[nodiscard]] const MatmulPlan& plan(const Product& product);

  /// C and D may be the same, or disjoint.
  struct Operands {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr;
    void* d = nullptr;
    float alpha = 1.0F, beta = 0.0F;
  };
  void enqueue(const MatmulPlan& plan, const Operands& operands, void* workspace, cudaStream_t stream) const;

 private:
  using LtHandle = Owned<cublasLtHandle_t, cublasLtDestroy>;
  LtHandle handle_;  ///< of the plans: first made, last gone
  std::map<Product, std::unique_ptr<MatmulPlan>> plans_;
};

}  // namespace muonbench::cuda
