// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/checkpoint_sample.h"
#include <gtest/gtest.h>

#include "src/model/build_params.h"

namespace muonbench::testing {
namespace {

std::vector<std::string> names(const CheckpointModel& model) {
  std::vector<std::string> all;
  for (const ParamConfig& param : model.params) all.push_back(param.name);
  return all;
}

TEST(Checkpoint, GivesTheShapesOfItsHeaderInTheOrderOfLayers) {
  const std::string path = fresh_folder() + "/model.safetensors";
  write_checkpoint(path, {{"lm_head.weight", {32, 8}},
                          {"model.layers.10.self_attn.q_proj.weight", {16, 8}},
                          {"model.layers.2.self_attn.q_proj.weight", {16, 8}},
                          {"model.embed_tokens.weight", {32, 8}},
                          {"model.norm.weight", {8}}});
  ModelConfig config;
  config.safetensors = path;
  const ParamSet set = build_params(config, {});
  std::vector<std::string> found;
  for (const Parameter& param : set.params)
    found.push_back(text("{} {}", param.name, param.layer.value_or(-9)));
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "model.embed_tokens.weight -1", "model.layers.2.self_attn.q_proj.weight 2",
                "model.layers.10.self_attn.q_proj.weight 10", "lm_head.weight 11", "model.norm.weight 11"}));
  EXPECT_EQ(set.layers, 11);
  EXPECT_EQ(set.elements(OptimizerKind::kMuon), Elements(2 * 16 * 8));
  EXPECT_EQ(set.elements(OptimizerKind::kAdam), Elements(2 * 32 * 8 + 8));
}

TEST(Checkpoint, IsTheSameFromTextThatAnotherRankRead) {
  const std::string path = fresh_folder() + "/model.safetensors";
  write_checkpoint(path, {{"w", {4, 8}}});
  ModelConfig config;
  config.safetensors = path;
  config.checkpoint = checkpoint_tensors(path);
  std::filesystem::remove(path);
  EXPECT_EQ(build_params(config, {}).elements(), Elements(32));
}

TEST(Checkpoint, OfSeveralFilesIsWhatItsIndexMaps) {
  const std::string folder = fresh_folder();
  write_checkpoint(folder + "/a.safetensors",
                   {{"layers.0.mlp.up_proj.weight", {4, 8}}, {"left.out", {2, 2}}});
  write_checkpoint(folder + "/b.safetensors", {{"layers.1.mlp.up_proj.weight", {6, 8}}});
  const std::string index = folder + "/model.safetensors.index.json";
  std::ofstream(index) << R"({"metadata": {"total_size": 160}, "weight_map": {
      "layers.1.mlp.up_proj.weight": "b.safetensors", "layers.0.mlp.up_proj.weight": "a.safetensors"}})";
  const CheckpointModel model = checkpoint_model(checkpoint_tensors(index), index);
  EXPECT_EQ(names(model),
            (std::vector<std::string>{"layers.0.mlp.up_proj.weight", "layers.1.mlp.up_proj.weight"}));
  EXPECT_EQ(model.params[1].shape, (std::vector<std::int64_t>{6, 8}));
}

TEST(Checkpoint, WhoseIndexAndFilesDisagreeIsRefused) {
  const std::string folder = fresh_folder(), index = folder + "/m.index.json";
  write_checkpoint(folder + "/a.safetensors", {{"w", {4, 8}}});
  const auto why = [&](const std::string& content) {
    std::ofstream(index) << content;
    return checkpoint_refusal(index);
  };
  EXPECT_EQ(
      why(R"({"weight_map": {"v": "a.safetensors"}})"),
      text("model.safetensors: {}: tensor \"v\": expected it in {}/a.safetensors, which has no such tensor",
           index, folder));
  EXPECT_NE(why(R"({"weight_map": {"w": "none.safetensors"}})")
                .find("none.safetensors: cannot be read: No such file"),
            std::string::npos);
  EXPECT_NE(why(R"({"weight_map": {"w": "../a.safetensors"}})")
                .find("expected the name of a file beside the index"),
            std::string::npos);
  EXPECT_NE(why(R"({"weight_map": {"w": 3}})").find("got 3"), std::string::npos);
  EXPECT_NE(why(R"({"weights": {}})").find("expected an object with a weight_map"), std::string::npos);
  EXPECT_NE(why("{").find("expected JSON"), std::string::npos);
}

TEST(Checkpoint, ThatIsTruncatedOrNoneIsRefused) {
  const std::string folder = fresh_folder(), path = folder + "/m.safetensors";
  const auto why_bytes = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return checkpoint_refusal(path);
  };
  EXPECT_NE(why_bytes("").find("expected 8 bytes of header length"), std::string::npos);
  EXPECT_NE(why_bytes("1234567").find("got 7 readable bytes"), std::string::npos);
  EXPECT_NE(why_bytes(std::string("\x10\0\0\0\0\0\0\0{}", 10)).find("a header length of 16"),
            std::string::npos);
  EXPECT_NE(why_bytes(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10))
                .find("got a header length of 18446744073709551615"),
            std::string::npos);
  EXPECT_NE(why_bytes(std::string("\x02\0\0\0\0\0\0\0[]", 10)).find("an object of tensors"),
            std::string::npos);
  EXPECT_NE(why_bytes(std::string("\x02\0\0\0\0\0\0\0{}", 10)).find("expected parameters, got none"),
            std::string::npos);
  EXPECT_NE(checkpoint_refusal(folder + "/none.safetensors").find("No such file"), std::string::npos);
  EXPECT_NE(checkpoint_refusal(folder).find("ends with .safetensors or .index.json"), std::string::npos);
  std::filesystem::create_directories(folder + "/d.safetensors");
  EXPECT_NE(checkpoint_refusal(folder + "/d.safetensors").find("directory"), std::string::npos);
}

TEST(Checkpoint, WhoseDataCanNotBeThereIsRefused) {
  const std::string path = fresh_folder() + "/m.safetensors";
  const auto why = [&](const std::string& tensors, std::uint64_t data_bytes) {
    write_raw(path, "{" + tensors + "}", data_bytes);
    return checkpoint_refusal(path);
  };
  const std::string w = tensor_json({"w", {4, 8}}, 0, 64);
  EXPECT_EQ(why(w, 64), "");
  EXPECT_NE(why(w, 63).find("within the 63 bytes behind the header (a truncated file?), got [0,64]"),
            std::string::npos);
  EXPECT_NE(why(w + ", " + tensor_json({"v", {4}}, 60, 68), 68).find("expected its data to begin at byte 64"),
            std::string::npos);
  EXPECT_NE(why(w + ", " + tensor_json({"v", {4}}, 72, 80), 80).find("expected its data to begin at byte 64"),
            std::string::npos);
  EXPECT_NE(why(w + ", " + w, 64).find("expected each name once, got \"w\" twice"), std::string::npos);
  EXPECT_NE(why(tensor_json({"w", {4, 8}}, 0, 32), 64).find("as far apart as its dtype and shape [4,8] say"),
            std::string::npos);
  EXPECT_NE(why(tensor_json({"w", {4, 8}}, 64, 0), 64).find("as far apart"), std::string::npos);
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_NE(why(tensor_json({"w", {huge, huge}}, 0, 0), 64).find("as far apart"), std::string::npos);
  EXPECT_NE(why(tensor_json({"w", {4, 8}, "BF17"}, 0, 64), 64).find("a dtype of the format, got \"BF17\""),
            std::string::npos);
  EXPECT_NE(why(R"("w": {"dtype": "BF16", "shape": [-4, 8], "data_offsets": [0, 64]})", 64)
                .find("a shape of sizes"),
            std::string::npos);
  EXPECT_NE(why(R"("w": {"dtype": "BF16", "shape": [4, 8]})", 64).find("dtype, shape and data_offsets"),
            std::string::npos);
  EXPECT_NE(why(R"("w": [[[[[[[]]]]]]])", 64).find("nested too deep"), std::string::npos);
  EXPECT_NE(why(R"("w": 3)", 64).find("dtype, shape and data_offsets, got 3"), std::string::npos);
}

}  // namespace
}  // namespace muonbench::testing
