// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "src/bench/resolve.h"
#include "src/config/read_config.h"
#include "src/program/modes.h"

namespace muonbench {
namespace {

ConfigVocabulary vocabulary() {
  ConfigVocabulary words{{}, {"cpu", "cuda"}};
  for (const Mode& mode : modes()) words.modes.emplace_back(mode.name);
  return words;
}

std::unique_ptr<ResolvedRun> resolve_file(const std::string& name) {
  const std::string path = "configs/" + name;
  return resolve(read_config(read_text_file(path), path, {}, vocabulary()));
}

/// Ranks of every example, as configs/README.md says.
const std::map<std::string, int> kRanks = {
    {"quickstart.json", 8},
    {"tiny.json", 4},
    {"dense_130m.json", 4},
    {"dense_1b.json", 8},
    {"dense_8b.json", 16},
    {"moe_tiny.json", 8},
    {"moe_deepseek_v3.json", 1024},
    {"moe_kimi_k2.json", 2048},
    {"llama3_8b_8gpus.json", 8},
    {"embedding_heavy.json", 4},
    {"study_2163_embedding.json", 8},
    {"study_2163_pp1.json", 64},
    {"study_2163_pp8.json", 512},
    {"study_2163_trimmed.json", 8},
    {"gpu/llama3_8b_1gpu.json", 1},
    {"gpu/qwen3_30b_a3b_8ranks_1gpu.json", 8},
    {"gpu/llama3_8b_2gpus.json", 2},
    {"gpu/llama3_8b_4gpus.json", 4},
    {"gpu/llama3_8b_8gpus.json", 8},
    {"gpu/qwen3_30b_a3b_2gpus.json", 2},
    {"gpu/qwen3_30b_a3b_4gpus.json", 4},
    {"gpu/qwen3_30b_a3b_8gpus.json", 8},
};

TEST(Examples, AreAllKnownHereAndOnTheirPage) {
  const std::string page = read_text_file("configs/README.md");
  for (const auto& file : std::filesystem::recursive_directory_iterator("configs")) {
    const std::string name = file.path().lexically_relative("configs").string();
    if (file.path().extension() != ".json" || name == "schema.json") continue;
    EXPECT_TRUE(kRanks.contains(name)) << name;
    EXPECT_TRUE(page.find("(" + name + ")") != std::string::npos) << name;
  }
}

TEST(Examples, FitTheirGridAndHaveAHomeForEveryShardedWeight) {
  for (const auto& [name, ranks] : kRanks) {
    const std::unique_ptr<ResolvedRun> run = resolve_file(name);
    EXPECT_EQ(run->grid.world_size(), ranks) << name;
    EXPECT_TRUE(run->warnings.empty()) << name;
    for (int i = 0; i < run->params.size(); ++i) {
      const Parameter& param = run->params[ParamIndex(i)];
      const bool routed = param.optimizer == OptimizerKind::kMuon && param.has_gradient() &&
                          run->inputs.specs[ParamIndex(i).at()].sharding() != ParamSharding::kReplicated;
      EXPECT_EQ(run->inputs.homes[ParamIndex(i).at()].has_value(), routed) << name << ": " << param.name;
    }
  }
}

TEST(Examples, OfAHeavyEmbeddingHaveHalfOfTheirParametersInIt) {
  const std::unique_ptr<ResolvedRun> run = resolve_file("embedding_heavy.json");
  const Parameter& embedding = run->params[*run->params.find("embedding")];
  const auto all = static_cast<double>(run->params.elements().value());
  EXPECT_NEAR(static_cast<double>(embedding.shape.elements().value()) / all, 0.5, 0.02)
      << "of which norms are a part";
}

}  // namespace
}  // namespace muonbench
