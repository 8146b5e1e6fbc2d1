// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace muonbench::cuda::detail {

/// Throws RuntimeFailure unless `result` says success: call, place, the library's name and text of the error.
void check(cudaError_t result, const char* call, const char* file, int line);
void check(cublasStatus_t result, const char* call, const char* file, int line);

/// For destructors: logs instead.
void report(cudaError_t result, const char* call, const char* file, int line) noexcept;
void report(cublasStatus_t result, const char* call, const char* file, int line) noexcept;

}  // namespace muonbench::cuda::detail

/// Runs a call of the CUDA runtime or of cuBLAS(Lt) and throws if it failed.
#define MUONBENCH_CUDA(call) ::muonbench::cuda::detail::check((call), #call, __FILE__, __LINE__)
#define MUONBENCH_CUDA_NOEXCEPT(call) ::muonbench::cuda::detail::report((call), #call, __FILE__, __LINE__)
