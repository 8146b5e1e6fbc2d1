// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muonbench {

/// What the table and the CSV show of the resolved configuration; a key that it lacks is empty.
struct RunFacts {
  std::string name, backend, transport, param_dtype, precision;
  std::optional<std::int64_t> tp, gtp_remat, dp, pp;
};

/// Reads `config_json` (empty text: no facts). Throws RuntimeFailure if it is not a JSON object.
[[nodiscard]] RunFacts run_facts(const std::string& config_json);

}  // namespace muonbench
