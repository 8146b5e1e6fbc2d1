// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace muonbench::cuda::detail {

void check_nccl(ncclResult_t result, const char* call, const char* file, int line);
void report_nccl(ncclResult_t result, const char* call, const char* file, int line) noexcept;

}  // namespace muonbench::cuda::detail

/// A failed call throws RuntimeFailure: this rank, the call, where it stands, NCCL's name for the error and
/// its last message. ncclInProgress is no failure: a nonblocking communicator goes on by itself, and is asked
/// later.
#define MUONBENCH_NCCL(call) ::muonbench::cuda::detail::check_nccl((call), #call, __FILE__, __LINE__)

/// The form for destructors: logs.
#define MUONBENCH_NCCL_NOEXCEPT(call) \
  ::muonbench::cuda::detail::report_nccl((call), #call, __FILE__, __LINE__)
