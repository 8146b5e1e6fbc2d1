// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/config/run_config.h"

namespace muonbench {

/// Every key with its value: what read_config turns into the same configuration again.
[[nodiscard]] std::string resolved_json(const RunConfig& config);

}  // namespace muonbench
