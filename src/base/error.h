// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace muonbench {

/// Exit status of a rank, and so of the job. The values are part of the outside contract.
enum class ExitCode : int {
  kDone = 0,
  kUsage = 2,         ///< command line or configuration
  kThreshold = 3,     ///< a required threshold was missed
  kWrongNumbers = 4,  ///< golden case out of bound, promised bits differ, non-finite values
  kRuntime = 5,       ///< MPI, NCCL, CUDA, memory, output not written
  kTimeout = 6,       ///< watchdog
  kInterrupted = 7,
};

/// Base of everything that ends a run on purpose. what() is the one message that a user reads.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The configuration or command line cannot be honoured. Thrown before the first step, the same on every
/// rank.
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// Something failed while running, on this rank: the message names call, rank and library text.
class RuntimeFailure : public Error {
 public:
  explicit RuntimeFailure(const std::string& message) : Error(ExitCode::kRuntime, message) {}
};

}  // namespace muonbench
