// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <gtest/gtest.h>

#include "src/base/text.h"
#include "src/model/build_params.h"

namespace muonbench {
namespace {

ParamSet build(const TransformerConfig& dims) {
  ModelConfig model;
  model.transformer = dims;
  return build_params(model, {});
}

ParamSet build(const std::string& preset) {
  ModelConfig model;
  model.preset = preset;
  return build_params(model, {});
}

/// How many matrices there are of each shape and tags, whatever their names.
std::map<std::string, int> matrices(const ParamSet& set) {
  std::map<std::string, int> counts;
  for (const Parameter& p : set.params)
    if (p.dims == 2)
      ++counts[text("{} x {} tp {} gtp {} expert {} muon {}", p.shape.rows, p.shape.cols,
                    p.tp_dim.value_or(-1), p.gtp_remat, p.expert, p.optimizer == OptimizerKind::kMuon)];
  return counts;
}

TransformerConfig deepseek_v3() {
  TransformerConfig dims;
  dims.hidden = 7168;
  dims.layers = 61;
  dims.heads = dims.kv_heads = 128;
  dims.head_dim = 192;
  dims.ffn_hidden = 18432;
  dims.vocab = 129280;
  dims.moe = MoeConfig{256, 2048, 1, 3};
  dims.mla = MlaConfig{1536, 512, 128, 64, 128};
  return dims;
}

TEST(Transformer, OfDeepSeekV3sDimensionsIsThePreset) {
  EXPECT_EQ(matrices(build(deepseek_v3())), matrices(build("deepseek-v3")));
}

TEST(Transformer, OfLlama3sDimensionsIsThePreset) {
  TransformerConfig dims;
  dims.hidden = 4096;
  dims.layers = 32;
  dims.heads = 32;
  dims.kv_heads = 8;
  dims.head_dim = 128;
  dims.ffn_hidden = 14336;
  dims.vocab = 128256;
  EXPECT_EQ(matrices(build(dims)), matrices(build("llama3-8b")));
  EXPECT_EQ(build(dims).elements(), Elements(8'030'261'248));
}

TEST(Transformer, OfMoonlightsDimensionsIsThePresetWithoutCompressedQueries) {
  TransformerConfig dims;
  dims.hidden = 2048;
  dims.layers = 27;
  dims.heads = dims.kv_heads = 16;
  dims.head_dim = 192;
  dims.ffn_hidden = 11264;
  dims.vocab = 163840;
  dims.moe = MoeConfig{64, 1408, 2, 1};
  dims.mla = MlaConfig{0, 512, 128, 64, 128};
  EXPECT_EQ(matrices(build(dims)), matrices(build("moonlight-16b-a3b")));
}

TEST(Transformer, KnowsTheLayerOfEveryParameterAndTheSetOfEveryExpert) {
  TransformerConfig dims = deepseek_v3();
  dims.layers = 5;
  const ParamSet set = build(dims);
  EXPECT_EQ(set.layers, 5);
  EXPECT_EQ(set[*set.find("embedding")].layer, -1);
  EXPECT_EQ(set[*set.find("layers.2.mlp.gate")].layer, 2);
  EXPECT_EQ(set[*set.find("layers.3.moe.router")].layer, 3);
  EXPECT_EQ(set[*set.find("final_norm")].layer, 5);
  EXPECT_EQ(set[*set.find("output")].layer, 5);
  const Parameter& expert = set[*set.find("layers.4.moe.expert.down.255")];
  EXPECT_EQ(expert.layer, 4);
  EXPECT_EQ(expert.expert_set, "layers.4.moe.expert.down");
  EXPECT_EQ(expert.group, "expert");
  EXPECT_FALSE(set.find("layers.3.mlp.gate")) << "experts take the place of the MLP";
  EXPECT_TRUE(set[*set.find("layers.3.moe.shared.gate")].expert_set.empty()) << "shared experts are dense";
}

TEST(Transformer, FusesGateAndUpOfExpertsToo) {
  TransformerConfig dims = deepseek_v3();
  dims.layers = 4;
  const ParamSet apart = build(dims);
  dims.fused_gate_up = true;
  const ParamSet fused = build(dims);
  EXPECT_EQ(fused[*fused.find("layers.3.moe.expert.gate_up.0")].shape, (Shape{4096, 7168}));
  EXPECT_EQ(fused[*fused.find("layers.3.moe.shared.gate_up")].shape, (Shape{4096, 7168}));
  EXPECT_EQ(fused.elements(), apart.elements());
}

TEST(BuildParams, DealsEntriesOfEqualShapeTogether) {
  ParamConfig a;
  a.name = "a";
  a.shape = {16, 16};
  a.expert = true;
  a.repeat = 2;
  ParamConfig b = a;
  b.name = "b";
  b.shape = {16, 32};
  ParamConfig c = a;
  c.name = "c";
  ParamConfig dense = a;
  dense.name = "dense";
  dense.expert = false;
  dense.stage = 1;
  ModelConfig model;
  model.params = {a, b, dense, c};
  const ParamSet set = build_params(model, {});
  const auto set_of = [&](const char* name) { return set[*set.find(name)].expert_set; };
  EXPECT_EQ(set_of("a.0"), set_of("a.1"));
  EXPECT_EQ(set_of("a.0"), set_of("c.0"));
  EXPECT_NE(set_of("a.0"), set_of("b.0"));
  EXPECT_EQ(set_of("dense.0"), "");
  EXPECT_EQ(set[*set.find("dense.0")].stage, 1);
  EXPECT_FALSE(set[*set.find("a.0")].layer.has_value());
  EXPECT_EQ(set.layers, 0);
}

}  // namespace
}  // namespace muonbench
