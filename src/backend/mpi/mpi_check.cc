// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_check.h"

#include <array>
#include <cstddef>
#include <exception>

#include <mpi.h>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

std::string& rank_label() {
  static std::string label;
  return label;
}

bool mpi_is_up() {
  int initialized = 0;
  int finalized = 0;
  return MPI_Initialized(&initialized) == MPI_SUCCESS && MPI_Finalized(&finalized) == MPI_SUCCESS &&
         initialized != 0 && finalized == 0;
}

// Calls that fail while a failure is being described are passed over: the description gets shorter.
std::string error_text(int result) {
  std::array<char, MPI_MAX_ERROR_STRING> buffer{};
  int length = 0;
  if (MPI_Error_string(result, buffer.data(), &length) != MPI_SUCCESS) return text("MPI error {}", result);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

std::string failure_text(int result, const char* call, const char* file, int line) {
  return text("{}: {} failed at {}:{}: {}", mpi_rank_name(), call, file, line, error_text(result));
}

}  // namespace

std::string mpi_rank_name() {
  if (!mpi_is_up()) return "unknown rank";
  int rank = -1;
  int length = 0;
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) return "unknown rank";
  if (MPI_Get_processor_name(host.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string label = rank_label().empty() ? "" : text(" ({})", rank_label());
  return text("rank {}{} on host {}", rank, label,
              std::string(host.data(), static_cast<std::size_t>(length)));
}

void set_mpi_rank_label(const std::string& label) { rank_label() = label; }

namespace detail {

void check_mpi(int result, const char* call, const char* file, int line) {
  if (result != MPI_SUCCESS) [[unlikely]]
    throw RuntimeFailure(failure_text(result, call, file, line));
}

void log_mpi_failure(int result, const char* call, const char* file, int line) noexcept {
  if (result == MPI_SUCCESS) return;
  try {
    log_error(failure_text(result, call, file, line));
  } catch (const std::exception&) {
    // Nothing is left to report with.
  }
}

}  // namespace detail
}  // namespace muonbench
