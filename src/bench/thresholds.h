// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/bench/result.h"
#include "src/config/run_config.h"

namespace muonbench {

/// Fields of a mode that `require` can bound, as "MODE.FIELD". The heaviest rank's value where a field is per
/// rank.
[[nodiscard]] std::vector<std::string> bounded_fields();

/// Throws ConfigError for a key of `require` whose field is not one of these.
void refuse_unknown_fields(const RunConfig& config);

/// One line for each bound that the result misses, an unknown value among them.
[[nodiscard]] std::vector<std::string> missed_bounds(const RunConfig& config, const Result& result);

}  // namespace muonbench
