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

/// Backends that this program was built with, by the names of run.backend.
[[nodiscard]] std::vector<std::string> linked_backends();

/// Versions of the libraries behind a linked backend and its transports. Needs no device.
[[nodiscard]] std::map<std::string, std::string> library_versions(std::string_view backend);

/// The device of the rank that is the `local_rank`-th on its machine. Ranks take turns on the GPUs that they
/// see; one that sees a single GPU, as launchers arrange it, uses that. Throws ConfigError if the backend is
/// not linked, or finds no device.
[[nodiscard]] std::unique_ptr<Device> make_device(std::string_view backend, int local_rank);

}  // namespace muonbench
