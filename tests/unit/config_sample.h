// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/config/read_config.h"

/// A configuration that is legal, and ways to read it changed.
namespace muonbench::testing {

inline constexpr std::string_view kMinimal = R"({"model": {"params": [{"name": "w", "shape": [9, 16]}]}})";

[[nodiscard]] inline ConfigVocabulary vocabulary() {
  return {{"layer_sharded", "duplicated", "layer_wise", "adam_dim0", "adam_replicated"}, {"cpu"}};
}

[[nodiscard]] inline RunConfig read(std::string_view json, const std::vector<std::string>& overrides = {}) {
  return read_config(json, "dir/job.json", overrides, vocabulary());
}

/// The message that refuses it; empty if nothing does.
[[nodiscard]] inline std::string refusal(std::string_view json,
                                         const std::vector<std::string>& overrides = {}) {
  try {
    static_cast<void>(read(json, overrides));
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

/// kMinimal with more members at the top level.
[[nodiscard]] inline std::string minimal_and(const std::string& members) {
  return std::string(kMinimal.substr(0, kMinimal.size() - 1)) + ", " + members + "}";
}

/// What is read, and the message behind the name of the file.
struct Refusal {
  std::string json;
  std::string message;
};

inline void expect_refusals(const std::vector<Refusal>& cases) {
  for (const Refusal& each : cases)
    EXPECT_EQ(refusal(each.json), "dir/job.json: " + each.message) << each.json;
}

}  // namespace muonbench::testing
