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

/// Where a key of the table is set in a job that has one of everything.
std::string settable_path(const std::string& path) {
  return std::regex_replace(path, std::regex(R"(\[\])"), ".0");
}

std::string job_with_a_model_for(const std::string& path) {
  return path.starts_with("model.transformer")
             ? R"({"model": {"transformer": {"hidden": 8, "layers": 1, "heads": 2, "ffn_hidden": 8,
                                            "vocab": 4}}})"
             : R"({"model": {"params": [{"name": "w", "shape": [9, 16]}]},
                   "gradients": {"inject": [{"param": "w", "value": "nan"}]}})";
}

TEST(ConfigKeys, StandOnceEach) {
  std::set<std::string> paths;
  for (const KeyInfo& key : config_keys()) EXPECT_TRUE(paths.insert(key.path).second) << key.path;
  EXPECT_GT(paths.size(), 80U);
}

TEST(ConfigKeys, AreAllExplainedInTheReadmeWithTypeDefaultAndRange) {
  const std::string readme = read_text_file("configs/README.md");
  for (const KeyInfo& key : config_keys()) {
    const std::string row = text("\n| `{}` | {} | `{}` | {} | ", key.path, key.type, key.default_text,
                                 key.later ? "the default" : key.expected);
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

TEST(ConfigKeys, AreAllPartOfTheResolvedConfigurationButForModelSources) {
  const std::set<std::string> absent = {"model.preset", "model.safetensors", "model.layers",
                                        "model.transformer.moe", "model.transformer.mla"};
  const RunConfig params = read(R"({"model": {"params": [{"name": "w", "shape": [9, 16]}]},
                                    "gradients": {"inject": [{"param": "w", "value": "nan"}]}})");
  const RunConfig transformer = read(job_with_a_model_for("model.transformer"));
  for (const KeyInfo& key : config_keys()) {
    const bool of_transformer = key.path.starts_with("model.transformer");
    const auto json = nlohmann::json::parse((of_transformer ? transformer : params).resolved_json);
    std::string pointer = "/" + settable_path(key.path);
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    EXPECT_EQ(json.contains(nlohmann::json::json_pointer(pointer)), !absent.contains(key.path)) << key.path;
  }
}

TEST(ConfigKeys, RefuseANullUnlessItMeansSomething) {
  const std::set<std::string> nullable = {"model.params[].tp_dim", "model.params[].group"};
  for (const KeyInfo& key : config_keys()) {
    const std::string said = refusal(job_with_a_model_for(key.path), {settable_path(key.path) + "=null"});
    if (nullable.contains(key.path)) {
      EXPECT_EQ(said, "");
      continue;
    }
    EXPECT_NE(said.find(": expected "), std::string::npos) << key.path << ": " << said;
    EXPECT_TRUE(said.ends_with(", got null")) << key.path << ": " << said;
  }
}

TEST(ConfigKeys, OfLaterBuildsAreAcceptedAtTheirDefaultAlone) {
  int checked = 0;
  for (const LaterKey& key : later_keys()) {
    const std::string path = settable_path(std::string(key.path));
    const std::string job = job_with_a_model_for(path);
    if (!key.default_json.empty()) {
      EXPECT_EQ(refusal(job, {text("{}={}", path, key.default_json)}), "") << key.path;
    }
    const std::string said = refusal(job, {path + "=7"});
    EXPECT_NE(said.find("this build does not honour"), std::string::npos) << key.path << ": " << said;
    EXPECT_TRUE(said.ends_with(", got 7")) << said;
    ++checked;
  }
  EXPECT_EQ(checked, static_cast<int>(later_keys().size()));
  EXPECT_EQ(refusal(kMinimal, {"parallelism.dp=2"}),
            "--set parallelism.dp=2: parallelism.dp: expected 1 (this build does not honour other values "
            "yet), got 2");
  EXPECT_EQ(refusal(kMinimal, {"parallelism.dp=1.0"}), "") << "the same number in another notation";
}

TEST(ConfigKeys, OfTheExampleFilesAreAllKnown) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator("configs")) {
    if (file.path().extension() != ".json") continue;
    const std::string path = file.path().string();
    EXPECT_NO_THROW(static_cast<void>(read_config(read_text_file(path), path, {}, vocabulary()))) << path;
    ++files;
  }
  EXPECT_GE(files, 5);
}

}  // namespace
}  // namespace muonbench::testing
