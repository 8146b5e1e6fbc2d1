// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace muonbench {

/// Library, version and the kernels that it chose for this processor: "OpenBLAS 0.3.21 ... (kernels:
/// Haswell)".
[[nodiscard]] std::string blas_version();

/// Threads that one product uses.
[[nodiscard]] int blas_threads();

}  // namespace muonbench

namespace muonbench::cpu {

/// One thread a rank, since ranks share the cores, unless OPENBLAS_NUM_THREADS or OMP_NUM_THREADS asks for
/// another number.
void limit_blas_threads();

/// Empty, or what to do about kernels that are older than this processor (OpenBLAS falls back to SSE kernels
/// on processors that it does not know, at a quarter of the speed or less).
[[nodiscard]] std::string blas_advice();

}  // namespace muonbench::cpu
