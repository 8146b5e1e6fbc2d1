// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace muonbench {

/// How this process is called in messages: "rank 5 on host n03", or with a label "rank 5 (g=2, t=1) on host
/// n03".
[[nodiscard]] std::string mpi_rank_name();

/// Sets the label, once the place of this process in its domain is known. Not while other threads use MPI.
void set_mpi_rank_label(const std::string& label);

namespace detail {
void check_mpi(int result, const char* call, const char* file, int line);
void log_mpi_failure(int result, const char* call, const char* file, int line) noexcept;
}  // namespace detail
}  // namespace muonbench

/// A failed call throws RuntimeFailure: this rank, the call, where it stands, and MPI's own text.
#define MUONBENCH_MPI(call) ::muonbench::detail::check_mpi((call), #call, __FILE__, __LINE__)

/// The form for destructors: logs.
#define MUONBENCH_MPI_NOEXCEPT(call) ::muonbench::detail::log_mpi_failure((call), #call, __FILE__, __LINE__)
