// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/presets.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/model/build_params.h"

namespace muonbench {
namespace {

/// Counted from the models' published dimensions, apart from configs/models.
struct Published {
  const char* name;
  std::int64_t muon_parameters, adam_parameters, muon_matrices;
};
constexpr Published kPublished[] = {
    {"deepseek-v3", 669172039680, 1854379520, 45090},
    {"gpt-oss-120b", 115630571520, 1198585152, 14004},
    {"kimi-k2", 1024058392576, 2349839872, 69668},
    {"llama3-70b", 68451041280, 2102665216, 560},
    {"llama3-8b", 6979321856, 1050939392, 224},
    {"mixtral-8x7b", 46440382464, 262410240, 928},
    {"moonlight-16b-a3b", 15288893440, 671216768, 5207},
    {"nemotron-h-56b", 54169436160, 2154914304, 256},
    {"nemotron-h-8b", 7025459200, 1075393536, 112},
    {"nemotron3-nano-30b-a3b", 30872346624, 705593664, 6027},
    {"nemotron3-super-120b-a12b", 119592189952, 1076517888, 41272},
    {"nemotron3-ultra-550b-a55b", 547155345408, 2153648128, 49536},
    {"qwen3-235b-a22b", 233848176640, 1245457920, 36566},
    {"qwen3-30b-a3b", 29909581824, 622540800, 18672},
};

ParamSet build(const std::string& preset, std::optional<std::int64_t> layers = std::nullopt) {
  ModelConfig model;
  model.preset = preset;
  model.layers = layers;
  return build_params(model, {});
}

std::int64_t muon_matrices(const ParamSet& set) {
  std::int64_t count = 0;
  for (const Parameter& param : set.params) count += param.optimizer == OptimizerKind::kMuon ? 1 : 0;
  return count;
}

std::string refusal(const std::string& preset, std::optional<std::int64_t> layers = std::nullopt) {
  try {
    static_cast<void>(build(preset, layers));
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Presets, AreThe14ModelsInAlphabeticalOrder) {
  ASSERT_EQ(presets().size(), std::size(kPublished));
  for (std::size_t i = 0; i < presets().size(); ++i) EXPECT_EQ(presets()[i].name, kPublished[i].name);
}

TEST(Presets, HaveAsManyWeightsAsTheirAuthorsCount) {
  for (const Published& published : kPublished) {
    const ParamSet set = build(published.name);
    EXPECT_EQ(set.elements(OptimizerKind::kMuon), Elements(published.muon_parameters)) << published.name;
    EXPECT_EQ(set.elements(OptimizerKind::kAdam), Elements(published.adam_parameters)) << published.name;
    EXPECT_EQ(muon_matrices(set), published.muon_matrices) << published.name;
  }
}

TEST(Presets, AddUpToWhatTheirFilesSayAndNearlyToWhatWasPublished) {
  for (const Preset& preset : presets()) {
    EXPECT_EQ(build(preset.name).elements(), Elements(preset.parameters)) << preset.name;
    // Authors round to two or three digits.
    const auto published = static_cast<double>(preset.published_parameters);
    EXPECT_LE(std::abs(static_cast<double>(preset.parameters) - published), 0.02 * published) << preset.name;
    EXPECT_FALSE(preset.source.empty()) << preset.name;
    EXPECT_FALSE(preset.published_source.empty()) << preset.name;
  }
}

TEST(Presets, CutToTheirFirstLayersKeepEmbeddingAndOutput) {
  const ParamSet set = build("llama3-8b", 2);
  EXPECT_EQ(set.layers, 2);
  ASSERT_TRUE(set.find("embed") && set.find("lm_head") && set.find("layers.1.mlp.down"));
  EXPECT_FALSE(set.find("layers.2.mlp.down"));
  EXPECT_EQ(set[*set.find("embed")].layer, -1);
  EXPECT_EQ(set[*set.find("layers.1.mlp.down")].layer, 1);
  EXPECT_EQ(set[*set.find("lm_head")].layer, 2) << "behind the last layer that is left";
  // 2 of 32 layers; 266240 norm weights in 32 equal parts.
  EXPECT_EQ(set.elements(OptimizerKind::kMuon), Elements(6'979'321'856 / 32 * 2));
  EXPECT_EQ(set.elements(OptimizerKind::kAdam), Elements(2 * 128'256LL * 4096 + 266'240 / 32 * 2));
  EXPECT_EQ(muon_matrices(set), 14);
}

TEST(Presets, PutTheRemainderOfTheVectorsOnTheLastLayer) {
  for (const Preset& preset : presets()) {
    const ParamSet set = build(preset.name);
    const auto layers = static_cast<std::int64_t>(preset.layers.size());
    std::map<int, std::int64_t> vectors;
    for (const Parameter& param : set.params)
      if (param.dims == 1) {
        vectors[param.layer.value()] += param.shape.rows;
        EXPECT_FALSE(param.gtp_remat || param.tp_dim) << "vectors are untagged";
      }
    const std::int64_t each = preset.vector_parameters / layers;
    for (const auto& [layer, elements] : vectors)
      EXPECT_EQ(elements, layer + 1 < layers ? each : preset.vector_parameters - each * (layers - 1));
  }
}

TEST(Presets, DealExpertsPerLayerAndMatrix) {
  const ParamSet set = build("qwen3-30b-a3b", 2);
  std::map<std::string, int> sets;
  for (const Parameter& param : set.params) {
    EXPECT_EQ(param.expert, !param.expert_set.empty()) << param.name;
    if (!param.expert) continue;
    ++sets[param.expert_set];
    EXPECT_EQ(param.group, "expert");
    EXPECT_EQ(param.name.rfind(param.expert_set + ".", 0), 0U) << param.name << " of " << param.expert_set;
  }
  EXPECT_EQ(sets.size(), 6U) << "gate, up and down of two layers";
  for (const auto& [name, count] : sets) EXPECT_EQ(count, 128) << name;
}

TEST(Presets, ReplicateRoutersAndLatentProjections) {
  std::set<std::string> untagged;
  for (const Preset& preset : presets())
    for (const Parameter& param : build(preset.name, 12).params)
      if (param.dims == 2 && !param.gtp_remat) {
        EXPECT_FALSE(param.tp_dim.has_value()) << param.name;
        untagged.insert(param.name.substr(param.name.find('.', param.name.find('.') + 1) + 1));
      }
  EXPECT_EQ(untagged, (std::set<std::string>{"moe.latent_in", "moe.latent_out", "moe.router"}));
}

TEST(Presets, AreRefusedByNearestNameAndRangeOfLayers) {
  EXPECT_NE(refusal("lama3-8b").find("got \"lama3-8b\", did you mean llama3-8b?"), std::string::npos);
  EXPECT_EQ(refusal("gpt-oss-120b", 37),
            "model.layers: expected 1..36, as gpt-oss-120b has 36 layers, got 37");
}

}  // namespace
}  // namespace muonbench
