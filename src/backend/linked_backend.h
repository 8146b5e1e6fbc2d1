// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/backend/backend.h"

namespace muonbench {

/// A row of the table behind select.h.
struct LinkedBackend {
  std::string_view name;
  std::unique_ptr<Device> (*make_device)(int local_rank);
  std::map<std::string, std::string> (*library_versions)();
};

[[nodiscard]] LinkedBackend cpu_backend();

/// The table of this build: select_cpu.cc or select_cuda.cc.
[[nodiscard]] std::vector<LinkedBackend> backend_table();

}  // namespace muonbench
