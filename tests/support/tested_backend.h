// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace muonbench {

/// Where tests of whole steps run: MUONBENCH_TEST_BACKEND, cpu if it is not set, and
/// MUONBENCH_TEST_TRANSPORT, mpi.
struct TestedBackend {
  std::string backend = from_environment("MUONBENCH_TEST_BACKEND", "cpu");
  std::string transport = from_environment("MUONBENCH_TEST_TRANSPORT", "mpi");

 private:
  static std::string from_environment(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
    return value == nullptr ? otherwise : value;
  }
};

}  // namespace muonbench
