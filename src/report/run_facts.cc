// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/report/run_facts.h"

#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

using nlohmann::json;

/// The member at a JSON pointer, or null.
json member(const json& config, const char* pointer) {
  return config.value(json::json_pointer(pointer), json());
}

std::string word(const json& config, const char* pointer) {
  const json value = member(config, pointer);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<std::int64_t> count(const json& config, const char* pointer) {
  const json value = member(config, pointer);
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

RunFacts run_facts(const std::string& config_json) {
  if (config_json.empty()) return {};
  const json config = json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    throw RuntimeFailure(text("result field 'config': expected a JSON object, got {}", config_json));
  RunFacts facts;
  facts.name = word(config, "/name");
  facts.backend = word(config, "/run/backend");
  facts.transport = word(config, "/run/transport");
  facts.param_dtype = word(config, "/run/param_dtype");
  facts.precision = word(config, "/muon/fp32_matmul_prec");
  facts.tp = count(config, "/parallelism/tp");
  facts.gtp_remat = count(config, "/parallelism/gtp_remat");
  facts.dp = count(config, "/parallelism/dp");
  facts.pp = count(config, "/parallelism/pp");
  return facts;
}

}  // namespace muonbench
