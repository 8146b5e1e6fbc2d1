// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/config/key_path.h"

namespace muonbench {

/// `root` with each "dotted.path=value" set in turn. A number in the path is an index into a list that is
/// there already; missing objects are made. Throws ConfigError headed by "--set ...": no "=", an empty part
/// of a path, a path through something that is neither object nor list, an index out of range.
[[nodiscard]] Document with_overrides(JsonNode root, const std::string& source,
                                      const std::vector<std::string>& overrides);

/// What the key at a path takes, or else the nearest key above it that says so: for messages.
[[nodiscard]] std::string expected_at_path(const std::string& path);

}  // namespace muonbench
