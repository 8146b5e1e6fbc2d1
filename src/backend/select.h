// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/backend/backend.h"

namespace muonbench {

/// Backends that this program was built with, by the names of run.backend.
[[nodiscard]] std::vector<std::string> linked_backends();

/// The device of the rank that is the `local_rank`-th on its machine. Throws ConfigError if the backend is
/// not linked.
[[nodiscard]] std::unique_ptr<Device> make_device(std::string_view backend, int local_rank);

}  // namespace muonbench
