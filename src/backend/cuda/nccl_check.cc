// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/nccl_check.h"

#include <exception>
#include <string>

#include "src/backend/mpi/mpi_check.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace muonbench::cuda::detail {
namespace {

bool is_failure(ncclResult_t result) { return result != ncclSuccess && result != ncclInProgress; }

std::string failure(ncclResult_t result, const char* call, const char* file, int line) {
  // One text for all communicators of a process: NCCL takes the argument for later use.
  const char* const last = ncclGetLastError(nullptr);
  return text("{}: {} failed at {}:{}: {}; last: {}", mpi_rank_name(), call, file, line,
              ncclGetErrorString(result), last == nullptr || *last == '\0' ? "nothing" : last);
}

}  // namespace

void check_nccl(ncclResult_t result, const char* call, const char* file, int line) {
  if (is_failure(result)) [[unlikely]]
    throw RuntimeFailure(failure(result, call, file, line));
}

void report_nccl(ncclResult_t result, const char* call, const char* file, int line) noexcept {
  if (!is_failure(result)) return;
  try {
    log_error(failure(result, call, file, line));
  } catch (const std::exception&) {
    // Nothing is left to report with.
  }
}

}  // namespace muonbench::cuda::detail
