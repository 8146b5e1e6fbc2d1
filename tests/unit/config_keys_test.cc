// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "tests/unit/config_sample.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/base/text.h"
#include "src/config/key_table.h"

namespace muonbench::testing {
namespace {

/// The name that stands for "*" in the jobs below.
std::string any_name(const std::string& path) {
  return path.starts_with("require") ? "duplicated.speed" : "x";
}

/// Where a key of the table is set in a job that has one of everything.
std::string settable_path(const std::string& path) {
  const std::string indexed = std::regex_replace(path, std::regex(R"(\[\])"), ".0");
  return std::regex_replace(indexed, std::regex(R"(\*)"), any_name(path));
}

std::string job_for(const std::string& path) {
  if (path == "model.preset" || path == "model.layers")
    return R"({"model": {"preset": "llama3-8b", "layers": 2}})";
  if (path == "model.safetensors") return R"({"model": {"safetensors": "a.safetensors"}})";
  return path.starts_with("model.transformer")
             ? R"({"model": {"transformer": {"hidden": 8, "layers": 1, "heads": 2, "ffn_hidden": 8, "vocab": 4,
                    "moe": {"experts": 2, "expert_ffn_hidden": 4},
                    "mla": {"kv_rank": 2, "nope_dim": 3, "rope_dim": 1, "v_dim": 2}}}})"
             : R"({"model": {"params": [{"name": "w", "shape": [9, 16]}]},
                   "muon": {"groups": {"x": {}}},
                   "require": {"duplicated.speed": {"min": 1, "max": 2}},
                   "gradients": {"inject": [{"param": "w", "value": "nan"}]}})";
}

/// "--set" of a key; the names in `require` have dots of their own.
std::string override_of(const std::string& path, const std::string& value) {
  if (path.starts_with("require.*"))
    return text(R"(require={{"{}": {{"{}": {}}}}})", any_name(path), path.substr(path.rfind('.') + 1), value);
  return text("{}={}", settable_path(path), value);
}

nlohmann::json::json_pointer pointer_to(const std::string& path) {
  std::string pointer = "/" + std::regex_replace(path, std::regex(R"(\[\])"), ".0");
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return nlohmann::json::json_pointer(std::regex_replace(pointer, std::regex(R"(\*)"), any_name(path)));
}

TEST(ConfigKeys, StandOnceEach) {
  std::set<std::string> paths;
  for (const KeyInfo& key : config_keys()) EXPECT_TRUE(paths.insert(key.path).second) << key.path;
  EXPECT_GT(paths.size(), 80U);
}

TEST(ConfigKeys, AreAllExplainedInTheReadmeWithTypeDefaultAndRange) {
  const std::string readme = read_text_file("configs/README.md");
  for (const KeyInfo& key : config_keys()) {
    const std::string row =
        text("\n| `{}` | {} | `{}` | {} | ", key.path, key.type, key.default_text, key.expected);
    EXPECT_NE(readme.find(row), std::string::npos) << "configs/README.md lacks a row that begins:" << row;
  }
}

TEST(ConfigKeys, AreTheOnlyOnesThatTheReadmeExplains) {
  std::set<std::string> known;
  for (const KeyInfo& key : config_keys()) known.insert(key.path);
  const std::string readme = read_text_file("configs/README.md");
  const std::regex row(R"(\n\| `([^`]+)` \|)");
  int rows = 0;
  for (auto match = std::sregex_iterator(readme.begin(), readme.end(), row); match != std::sregex_iterator();
       ++match) {
    EXPECT_TRUE(known.contains((*match)[1])) << (*match)[1];
    ++rows;
  }
  EXPECT_EQ(rows, static_cast<int>(known.size()));
}

TEST(ConfigKeys, AreAllPartOfTheResolvedConfiguration) {
  for (const KeyInfo& key : config_keys()) {
    const auto json = nlohmann::json::parse(read(job_for(key.path)).resolved_json);
    EXPECT_TRUE(json.contains(pointer_to(key.path))) << key.path;
  }
}

TEST(ConfigKeys, RefuseANullUnlessItMeansSomething) {
  const std::set<std::string> nullable = {"model.params[].tp_dim", "model.params[].group",
                                          "model.transformer.mla.q_rank"};
  for (const KeyInfo& key : config_keys()) {
    const std::string said = refusal(job_for(key.path), {override_of(key.path, "null")});
    if (nullable.contains(key.path)) {
      EXPECT_EQ(said, "");
      continue;
    }
    EXPECT_NE(said.find(": expected "), std::string::npos) << key.path << ": " << said;
    EXPECT_TRUE(said.ends_with(", got null")) << key.path << ": " << said;
  }
}

TEST(ConfigKeys, OfTheExampleFilesAreAllKnown) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator("configs")) {
    if (file.path().extension() != ".json" || file.path().stem() == "schema") continue;
    const std::string path = file.path().string();
    EXPECT_NO_THROW(static_cast<void>(read_config(read_text_file(path), path, {}, vocabulary()))) << path;
    ++files;
  }
  EXPECT_GE(files, 10);
}

}  // namespace
}  // namespace muonbench::testing
