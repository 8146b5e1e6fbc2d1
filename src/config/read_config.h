// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/run_config.h"

namespace muonbench {

/// What later rooms know and a configuration is checked against; passed in, so that no arrow points back.
struct ConfigVocabulary {
  std::vector<std::string> modes;     ///< names that "modes" may hold in this build
  std::vector<std::string> backends;  ///< names that this build links: "cpu", "cuda"
};

/// Reads a file as text. Throws ConfigError with path and the system's reason (a missing file, a directory,
/// no permission).
[[nodiscard]] std::string read_text_file(const std::string& path);

/// Parses and checks a configuration: strict JSON (UTF-8, an optional BOM, any line ends; // and /* */
/// comments allowed), then `overrides` ("dotted.path=value", the value parsed as JSON, else taken as a
/// string), then ranges and words. `source` (a path) heads every message: "source: key: expected ..., got
/// ...". Nothing is sized by what it reads. Throws ConfigError: syntax (line and column), unknown key
/// (nearest name), repeated key, wrong type, range, unknown word (allowed ones listed), a known key that this
/// build does not honour yet and that differs from its default.
[[nodiscard]] RunConfig read_config(std::string_view json, const std::string& source,
                                    const std::vector<std::string>& overrides,
                                    const ConfigVocabulary& vocabulary);

}  // namespace muonbench
