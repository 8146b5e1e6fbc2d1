// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "src/backend/backend.h"
#include "src/ns/ns_options.h"

namespace muonbench {

/// Who multiplies. kLt: cublasLtMatmul, its first heuristic. kStridedBatched: cublasGemmStridedBatchedEx,
/// which chooses for itself, as torch.bmm does. Both may use 32 MiB of workspace.
enum class GemmLibrary { kLt, kStridedBatched };

[[nodiscard]] std::string_view name_of(GemmLibrary library);

/// What no Newton-Schulz that multiplies by cuBLAS can undercut: its bf16 products alone, three a step, beta
/// 0, into memory that is there already; no norm, no casts, no copies; launched as one CUDA graph. Every step
/// repeats the products of the first, A = X X^T / n, B = A A, X' = B X on normal(0, 1): chained without the
/// polynomial's other terms, values would leave the range of bf16 after two steps.
class GemmOnly {
 public:
  /// `sets`: so many copies of everything, taken round and round, so that X is not found in the cache.
  GemmOnly(Device& device, NsShape shape, int steps, GemmLibrary library, int sets);
  ~GemmOnly();
  GemmOnly(const GemmOnly&) = delete;
  GemmOnly& operator=(const GemmOnly&) = delete;
  /// Seconds that `runs` runs took on the device, one after the other without a pause.
  [[nodiscard]] double operator()(int runs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muonbench
