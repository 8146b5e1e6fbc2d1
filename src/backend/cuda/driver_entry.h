// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/cuda/cuda_check.h"
#include "src/base/check.h"

namespace muonbench::cuda {

/// A function of the driver that is there, as it is since CUDA `since` (12040: 12.4): no library to link.
/// Throws RuntimeFailure if the driver has none of that name.
template <class Function>
[[nodiscard]] Function driver_function(const char* name, unsigned since) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  MUONBENCH_CUDA(cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &result));
  MUONBENCH_CHECK(result == cudaDriverEntryPointSuccess && found != nullptr, "driver entry point {}: {}",
                  name, static_cast<int>(result));
  return reinterpret_cast<Function>(found);
}

}  // namespace muonbench::cuda
