// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "tests/unit/checkpoint_sample.h"
#include <gtest/gtest.h>

#include "src/model/build_params.h"

namespace muonbench::testing {
namespace {

/// "muon 0 g": optimizer, tp_dim, gtp_remat; "e" behind it for an expert.
std::string tags(const ParamConfig& param) {
  return text("{} {} {}{}", param.optimizer, param.tp_dim ? text("{}", *param.tp_dim) : "-",
              param.gtp_remat ? "g" : "-", param.expert ? " e" : "");
}

CheckpointModel model_of(const std::vector<StoredTensor>& tensors) {
  const std::string path = fresh_folder() + "/m.safetensors";
  write_checkpoint(path, tensors);
  return checkpoint_model(checkpoint_tensors(path), path);
}

std::string tags_of(const std::string& name, const std::vector<std::int64_t>& shape = {4, 8}) {
  const CheckpointModel model = model_of({{name, shape}});
  return model.params.size() == 1 ? tags(model.params.front()) : "";
}

TEST(CheckpointRoles, FollowFromTheLastPartOfAName) {
  const std::map<std::string, std::string> expected = {
      {"model.embed_tokens.weight", "adam 0 g"},
      {"transformer.wte.weight", "adam 0 g"},
      {"transformer.wpe.weight", "adam - g"},
      {"lm_head.weight", "adam 0 g"},
      {"output.weight", "adam 0 g"},
      {"layers.0.attention.output.weight", "muon - g"},
      {"model.layers.0.self_attn.q_proj.weight", "muon 0 g"},
      {"model.layers.0.self_attn.qkv_proj.weight", "muon 0 g"},
      {"model.layers.0.self_attn.o_proj.weight", "muon 1 g"},
      {"model.layers.0.self_attn.q_a_proj.weight", "muon - g"},
      {"model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "muon - g"},
      {"model.layers.0.self_attn.kv_b_proj.weight", "muon 0 g"},
      {"model.layers.0.mlp.gate_proj.weight", "muon 0 g"},
      {"model.layers.0.mlp.down_proj.weight", "muon 1 g"},
      {"model.layers.0.mlp.gate.weight", "muon - -"},
      {"model.layers.0.mlp.router.weight", "muon - -"},
      {"model.layers.0.mlp.shared_experts.up_proj.weight", "muon 0 g"},
      {"model.layers.0.mixer.fc1_latent_proj.weight", "muon - -"},
      {"model.layers.0.mixer.in_proj.weight", "muon 0 g"},
      {"model.layers.0.mixer.eh_proj.weight", "muon - g"},
  };
  for (const auto& [name, role] : expected) EXPECT_EQ(tags_of(name), role) << name;
}

TEST(CheckpointRoles, OfEverythingThatIsNoMatrixIsAnAdamVector) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{8}, {}, {6, 1, 4}, {2, 2, 2, 2}})
    EXPECT_EQ(tags_of("layers.0.conv1d.weight", shape), "adam - -");
  EXPECT_EQ(model_of({{"layers.0.conv1d.weight", {6, 1, 4}}}).params[0].shape, std::vector<std::int64_t>{24});
  EXPECT_EQ(tags_of("layers.0.q_proj.bias", {8}), "adam - -");
}

TEST(CheckpointRoles, OfExpertsAreTheirMatricesAndOneSetPerLayerAndName) {
  const CheckpointModel model = model_of({{"layers.1.mlp.experts.10.down_proj.weight", {4, 8}},
                                          {"layers.1.mlp.experts.9.down_proj.weight", {4, 8}},
                                          {"layers.0.block_sparse_moe.experts.0.w1.weight", {4, 8}}});
  ASSERT_EQ(model.params.size(), 3U);
  EXPECT_EQ(tags(model.params[0]), "muon 0 g e");
  EXPECT_EQ(tags(model.params[1]), "muon 1 g e");
  EXPECT_EQ(model.params[1].name, "layers.1.mlp.experts.9.down_proj.weight") << "9 before 10";
  EXPECT_EQ(model.params[1].expert_set, model.params[2].expert_set);
  EXPECT_NE(model.params[0].expert_set, model.params[1].expert_set);
}

TEST(CheckpointRoles, OfATensorForAllExpertsAreThoseOfEachExpert) {
  const CheckpointModel model = model_of({{"layers.0.mlp.experts.gate_up_proj", {16, 4, 8}},
                                          {"layers.0.mlp.experts.gate_up_proj_bias", {16, 4}}});
  ASSERT_EQ(model.params.size(), 2U);
  EXPECT_EQ(tags(model.params[0]), "muon 0 g e");
  EXPECT_EQ(model.params[0].repeat, 16);
  EXPECT_EQ(model.params[0].shape, (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(tags(model.params[1]), "adam - - e");
  EXPECT_EQ(model.params[1].repeat, 16);
  EXPECT_EQ(model.params[1].shape, std::vector<std::int64_t>{4});
}

TEST(CheckpointRoles, LeaveOutWhatIsStoredButNoParameter) {
  const CheckpointModel model = model_of({{"layers.0.rotary_emb.inv_freq", {8}},
                                          {"layers.0.q_proj.weight", {4, 8}},
                                          {"layers.0.q_proj.weight_scale_inv", {1, 1}},
                                          {"h.0.attn.bias", {1, 1, 4, 4}},
                                          {"position_ids", {1, 8}, "I16"}});
  ASSERT_EQ(model.params.size(), 1U);
  EXPECT_EQ(model.params[0].name, "layers.0.q_proj.weight");
}

TEST(CheckpointRoles, AreNotGuessedForPackedWeights) {
  const std::string path = fresh_folder() + "/m.safetensors";
  write_checkpoint(path, {{"layers.0.q_proj.weight", {4, 8}, "U16"}});
  EXPECT_EQ(
      checkpoint_refusal(path),
      text("model.safetensors: {}: tensor \"layers.0.q_proj.weight\": expected a floating-point dtype, got "
           "U16 (packed weights do not say their shape)",
           path));
  write_checkpoint(path, {{"layers.0.q_proj.weight", {4, 0}}});
  EXPECT_NE(checkpoint_refusal(path).find("expected sizes of at least 1, got 0"), std::string::npos);
}

TEST(CheckpointRoles, CountLayersUnderEveryUsualName) {
  for (const char* const head :
       {"model.layers", "transformer.h", "visual.blocks", "encoder.layer", "x.block"})
    EXPECT_EQ(model_of({{text("{}.7.w", head), {4, 8}}}).params[0].layer, 7) << head;
  EXPECT_EQ(model_of({{"model.layers.99999999999.w", {4, 8}}}).layers, 0) << "no layer has such a number";
}

}  // namespace
}  // namespace muonbench::testing
