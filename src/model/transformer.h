// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/config/run_config.h"

namespace muonbench {

/// The parameters of a transformer in the form of model.params, in the order that build_params.h lists.
/// Throws ConfigError if a dimension is a product that no signed 64-bit number holds.
[[nodiscard]] std::vector<ParamConfig> transformer_params(const TransformerConfig& dims);

}  // namespace muonbench
