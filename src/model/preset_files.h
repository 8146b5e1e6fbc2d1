// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace muonbench {

/// The texts of configs/models/*.json, put into the program by the build.
[[nodiscard]] std::vector<std::string_view> preset_files();

}  // namespace muonbench
