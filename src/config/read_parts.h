// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/config/key_path.h"
#include "src/config/read_config.h"
#include "src/config/run_config.h"

/// Readers of the keys that hold more than one value. `top` is the configuration's top level.
namespace muonbench {

/// Exactly one source must be set. What a source leaves out is filled in: heads' dependants, and the fill of
/// entries without a gradient of their own.
[[nodiscard]] ModelConfig read_model(const Key& top, GlobalFill fill);

[[nodiscard]] std::vector<std::string> read_modes(const Key& top, const ConfigVocabulary& vocabulary);
[[nodiscard]] std::map<std::string, std::pair<int, int>> read_homes(const Key& top);
[[nodiscard]] std::vector<NsCoefficients> read_custom_coefficients(const Key& top);
[[nodiscard]] std::vector<InjectConfig> read_injections(const Key& top);
/// What an entry leaves out is taken from `muon`.
[[nodiscard]] std::map<std::string, GroupConfig> read_groups(const Key& top, const MuonConfig& muon);
/// Thresholds on `modes`, the modes that run.
[[nodiscard]] std::map<std::string, Bounds> read_require(const Key& top,
                                                         const std::vector<std::string>& modes);

}  // namespace muonbench
