// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <cuda.h>

#include "src/backend/cuda/cuda_check.h"
#include "src/base/check.h"
#include "src/base/error.h"
#include "src/base/text.h"

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

/// Throws RuntimeFailure unless `result` says success: the call, and the driver's name for the error.
inline void check_driver(CUresult result, std::string_view call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  static_cast<void>(driver_function<decltype(&cuGetErrorName)>("cuGetErrorName", 6000)(result, &name));
  throw RuntimeFailure(text("{}: {}", call, name == nullptr ? "unknown error" : name));
}

}  // namespace muonbench::cuda
