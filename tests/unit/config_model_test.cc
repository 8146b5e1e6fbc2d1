// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/config_sample.h"
#include <gtest/gtest.h>

#include "src/base/text.h"

namespace muonbench::testing {
namespace {

/// A transformer with these members besides the required ones.
std::string transformer(const std::string& members) {
  return text(
      R"({{"model": {{"transformer": {{"hidden": 8, "layers": 2, "heads": 2, "ffn_hidden": 8, "vocab": 4,
                  {}}}}}}})",
      members);
}

TEST(ConfigModel, TakesAPresetWholeOrItsFirstLayers) {
  const RunConfig whole = read(R"({"model": {"preset": "llama3-8b"}})");
  EXPECT_EQ(whole.model.preset, "llama3-8b");
  EXPECT_FALSE(whole.model.layers.has_value());
  EXPECT_EQ(read(R"({"model": {"preset": "llama3-8b", "layers": 3}})").model.layers, 3);
  EXPECT_EQ(read("{}", {"model.preset=llama3-8b"}).model.preset, "llama3-8b");
  EXPECT_EQ(read(R"({"model": {"safetensors": "a/b.safetensors"}})").model.safetensors, "a/b.safetensors");
}

TEST(ConfigModel, RefusesLayersWithoutAPreset) {
  expect_refusals({
      {R"({"model": {"layers": 2, "params": [{"name": "w", "shape": [1, 1]}]}})",
       "model.layers: expected this key to be absent, as it cuts a model.preset alone, got 2"},
      {R"({"model": {"layers": 0, "preset": "llama3-8b"}})",
       "model.layers: expected an integer in 1..100000, got 0"},
      {R"({"model": {"preset": ["llama3-8b"]}})",
       "model.preset: expected a non-empty string, got [\"llama3-8b\"]"},
      {R"({"model": {"safetensors": ""}})", "model.safetensors: expected a non-empty string, got \"\""},
  });
}

TEST(ConfigModel, ReadsExpertsOfATransformer) {
  const RunConfig config = read(transformer(
      R"("moe": {"experts": 16, "expert_ffn_hidden": 32, "shared_experts": 2, "first_dense_layers": 1})"));
  const MoeConfig& moe = config.model.transformer->moe.value();
  EXPECT_EQ(moe.experts, 16);
  EXPECT_EQ(moe.expert_ffn_hidden, 32);
  EXPECT_EQ(moe.shared_experts, 2);
  EXPECT_EQ(moe.first_dense_layers, 1);
  EXPECT_FALSE(config.model.transformer->mla.has_value());
}

TEST(ConfigModel, ReadsLatentAttentionOfATransformer) {
  const std::string sizes = R"("kv_rank": 3, "nope_dim": 5, "rope_dim": 2, "v_dim": 4)";
  const RunConfig config = read(transformer(text(R"("mla": {{"q_rank": 7, {}}})", sizes)));
  const MlaConfig& mla = config.model.transformer->mla.value();
  EXPECT_EQ(mla.q_rank, 7);
  EXPECT_EQ(mla.kv_rank, 3);
  EXPECT_EQ(mla.nope_dim, 5);
  EXPECT_EQ(mla.rope_dim, 2);
  EXPECT_EQ(mla.v_dim, 4);
  EXPECT_EQ(config.model.transformer->head_dim, 7) << "nope_dim + rope_dim, not hidden / heads";
  for (const char* const none : {"null", "0"})
    EXPECT_EQ(
        read(transformer(text(R"("mla": {{"q_rank": {}, {}}})", none, sizes))).model.transformer->mla->q_rank,
        0);
}

TEST(ConfigModel, RefusesExpertsAndLatentAttentionThatDoNotFit) {
  const std::string mla = R"("mla": {"kv_rank": 3, "nope_dim": 5, "rope_dim": 2, "v_dim": 4})";
  expect_refusals({
      {transformer(R"("moe": {"experts": 2, "expert_ffn_hidden": 4, "first_dense_layers": 3})"),
       "model.transformer.moe.first_dense_layers: expected at most model.transformer.layers (2), got 3"},
      {transformer(R"("moe": {"experts": 0, "expert_ffn_hidden": 4})"),
       "model.transformer.moe.experts: expected an integer in 1..1000000, got 0"},
      {transformer(R"("moe": {"experts": 2})"),
       "model.transformer.moe.expert_ffn_hidden: expected an integer in 1..9223372036854775807, got nothing"},
      {transformer(R"("moe": {"expert": 2})"),
       "model.transformer.moe.expert: unknown key, did you mean experts?"},
      {transformer(R"("mla": {"q_rank": 1.5, "kv_rank": 3, "nope_dim": 5, "rope_dim": 2, "v_dim": 4})"),
       "model.transformer.mla.q_rank: expected an integer in 0..9223372036854775807 or null, got 1.5"},
      {transformer(R"("fused_qkv": true, )" + mla),
       "model.transformer.fused_qkv: expected false, as model.transformer.mla has no q, k and v to fuse, got "
       "true"},
      {transformer(R"("kv_heads": 1, )" + mla),
       "model.transformer.kv_heads: expected heads (2), as model.transformer.mla is set, got 1"},
      {transformer(R"("head_dim": 6, )" + mla),
       "model.transformer.head_dim: expected mla.nope_dim + mla.rope_dim (7), got 6"},
  });
  EXPECT_EQ(refusal(transformer(R"("kv_heads": 2, "head_dim": 7, )" + mla)), "") << "the same said twice";
}

TEST(ConfigModel, ReadsItsOwnResolvedFormAsTheSameModel) {
  const std::vector<std::string> jobs = {
      R"({"model": {"preset": "llama3-8b", "layers": 2}, "require": {"duplicated.x": {"max": 1e-300}}})",
      R"({"model": {"safetensors": "m.index.json"}, "parallelism": {"dp": 2, "ep": 2}})",
      transformer(R"("moe": {"experts": 2, "expert_ffn_hidden": 4},
                     "mla": {"q_rank": null, "kv_rank": 3, "nope_dim": 5, "rope_dim": 2, "v_dim": 4})"),
      R"({"model": {"params": [{"name": "w", "shape": [4, 4], "expert": true, "stage": 3, "group": "slow"}]},
          "muon": {"groups": {"slow": {"lr": 0.5}}}, "parallelism": {"pp": 4}})"};
  for (const std::string& job : jobs) {
    const RunConfig first = read(job);
    EXPECT_EQ(read_config(first.resolved_json, "other.json", {}, vocabulary()).resolved_json,
              first.resolved_json);
  }
}

TEST(ConfigModel, SetsTheMemberOfEveryAxis) {
  const ParallelismConfig p =
      read(
          minimal_and(R"("parallelism": {"tp": 2, "gtp_remat": 3, "dp": 5, "pp": 7, "ep": 11, "expert_tp": 13,
                                          "expert_gtp_remat": 17})"))
          .parallelism;
  EXPECT_EQ(p.dp, 5);
  EXPECT_EQ(p.pp, 7);
  EXPECT_EQ(p.ep, 11);
  EXPECT_EQ(p.expert_tp, 13);
  EXPECT_EQ(p.expert_gtp_remat, 17);
}

}  // namespace
}  // namespace muonbench::testing
