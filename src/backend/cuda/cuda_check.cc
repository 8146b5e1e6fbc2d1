// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/cuda_check.h"

#include <exception>
#include <string>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace muonbench::cuda::detail {
namespace {

std::string failure(const char* call, const char* file, int line, const char* name, const char* words) {
  return text("{} failed at {}:{}: {}: {}", call, file, line, name, words);
}

std::string failure(cudaError_t result, const char* call, const char* file, int line) {
  return failure(call, file, line, cudaGetErrorName(result), cudaGetErrorString(result));
}

std::string failure(cublasStatus_t result, const char* call, const char* file, int line) {
  return failure(call, file, line, cublasGetStatusName(result), cublasGetStatusString(result));
}

}  // namespace

void check(cudaError_t result, const char* call, const char* file, int line) {
  if (result != cudaSuccess) throw RuntimeFailure(failure(result, call, file, line));
}

void check(cublasStatus_t result, const char* call, const char* file, int line) {
  if (result != CUBLAS_STATUS_SUCCESS) throw RuntimeFailure(failure(result, call, file, line));
}

// An error that is on its way up comes back from every call after it: it is said once, by who catches it.
void report(cudaError_t result, const char* call, const char* file, int line) noexcept {
  // A process that ends takes its context along before the last owners are gone.
  if (result == cudaSuccess || result == cudaErrorCudartUnloading || std::uncaught_exceptions() > 0) return;
  log_error(failure(result, call, file, line));
}

void report(cublasStatus_t result, const char* call, const char* file, int line) noexcept {
  if (result == CUBLAS_STATUS_SUCCESS || std::uncaught_exceptions() > 0) return;
  log_error(failure(result, call, file, line));
}

}  // namespace muonbench::cuda::detail
