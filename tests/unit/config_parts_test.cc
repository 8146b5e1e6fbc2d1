// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/config_sample.h"
#include <gtest/gtest.h>

#include "src/base/text.h"

namespace muonbench::testing {
namespace {

TEST(ConfigRefusal, NamesWhatIsWrongWithCoefficients) {
  expect_refusals({
      {minimal_and(R"("muon": {"coefficient_type": "quintik"})"),
       "muon.coefficient_type: expected one of simple, quintic, polar_express, cans, aol, deepseekv4, "
       "cubic5, custom, got "
       "\"quintik\", did you mean quintic?"},
      {minimal_and(R"("muon": {"coefficient_type": "cubic5", "num_ns_steps": 4})"),
       "muon.num_ns_steps: expected exactly 5 with coefficient_type cubic5, got 4"},
      {minimal_and(R"("muon": {"coefficient_type": "custom"})"),
       "muon.custom_coefficients: expected at least one [a, b, c], as muon.coefficient_type is custom, got "
       "nothing"},
      {minimal_and(R"("muon": {"custom_coefficients": [[1, 2, 3]]})"),
       "muon.custom_coefficients: expected none, as muon.coefficient_type is quintic and not custom, got "
       "[[1, 2, 3]]"},
      {minimal_and(R"("muon": {"coefficient_type": "custom", "custom_coefficients": [[1, 2, 3], [1, 2]]})"),
       "muon.custom_coefficients[1]: expected [a, b, c], three numbers, got [1, 2]"},
      {minimal_and(R"("muon": {"coefficient_type": "custom", "custom_coefficients": [[1, "2", 3]]})"),
       "muon.custom_coefficients[0][1]: expected a number in [-3.4028235e+38, 3.4028235e+38], got \"2\""},
  });
}

TEST(ConfigRefusal, NamesWhatIsWrongWithHomes) {
  const auto homes = [](const std::string& value) {
    return minimal_and(text(R"("muon": {{"home_policy": "explicit", "homes": {}}})", value));
  };
  expect_refusals({
      {minimal_and(R"("muon": {"homes": {"w": [0, 0]}})"),
       "muon.homes: expected {}, as muon.home_policy is lpt_ns_cost and not explicit, got {\"w\": [0, 0]}"},
      {homes(R"({"w": [0]})"), "muon.homes.w: expected [g, t], two integers in 0..1048575, got [0]"},
      {homes(R"({"w": [0, -1]})"), "muon.homes.w[1]: expected an integer in 0..1048575, got -1"},
      {homes("[]"), "muon.homes: expected an object of \"name\": [g, t], two integers in 0..1048575, got []"},
  });
  EXPECT_EQ(refusal(homes("{}")), "");
}

TEST(ConfigRefusal, NamesWhatIsWrongWithAParameter) {
  const auto param = [](const std::string& members) {
    return text(R"({{"model": {{"params": [{{"name": "w", {}}}]}}}})", members);
  };
  const std::string sizes = "expected one or two integers in 1..9223372036854775807";
  const std::string size = "expected an integer in 1..9223372036854775807";
  const std::string pieces =
      "expected three or four positive integers whose sum divides dim 0 of a 2-D shape";
  expect_refusals({
      {param(R"("shape": [0, 16])"), "model.params[0].shape[0]: " + size + ", got 0"},
      {param(R"("shape": [-4, 16])"), "model.params[0].shape[0]: " + size + ", got -4"},
      {param(R"("shape": [16, "16"])"), "model.params[0].shape[1]: " + size + ", got \"16\""},
      {param(R"("shape": [1.5, 4])"), "model.params[0].shape[0]: " + size + ", got 1.5"},
      {param(R"("shape": [4, 9223372036854775808])"),
       "model.params[0].shape[1]: " + size + ", got 9223372036854775808"},
      {param(R"("shape": [])"), "model.params[0].shape: " + sizes + ", got []"},
      {param(R"("shape": [2, 3, 4])"), "model.params[0].shape: " + sizes + ", got [2, 3, 4]"},
      {param(R"("shape": 16)"), "model.params[0].shape: " + sizes + ", got 16"},
      {param(R"("optimizer": "adam")"), "model.params[0].shape: " + sizes + ", got nothing"},
      {R"({"model": {"params": [{"shape": [1, 1]}]}})",
       "model.params[0].name: expected a non-empty string, got nothing"},
      {param(R"("shape": [4, 4], "tp_dim": 2)"), "model.params[0].tp_dim: expected 0, 1 or null, got 2"},
      {param(R"("shape": [4, 4], "tp_dim": "0")"),
       "model.params[0].tp_dim: expected 0, 1 or null, got \"0\""},
      {param(R"("shape": [4, 4], "optimizer": "sgd")"),
       "model.params[0].optimizer: expected one of muon, adam, got \"sgd\""},
      {param(R"("shape": [9, 4], "qkv_split": [2, 1, 1])"),
       "model.params[0].qkv_split: expected positive integers whose sum (4) divides dim 0 (9), got [2, 1, "
       "1]"},
      {param(R"("shape": [9, 4], "qkv_split": [1, 9223372036854775807, 9223372036854775807])"),
       "model.params[0].qkv_split: expected positive integers whose sum divides dim 0 of a 2-D shape (9), "
       "got [1, 9223372036854775807, 9223372036854775807]"},
      {param(R"("shape": [9, 4], "qkv_split": [1, 0, 1])"),
       "model.params[0].qkv_split[1]: expected an integer in 1..9223372036854775807, got 0"},
      {param(R"("shape": [9, 4], "qkv_split": [2, 1])"),
       "model.params[0].qkv_split: " + pieces + ", got [2, 1]"},
      {param(R"("shape": [9, 4], "qkv_split": [1, 1, 1, 1, 1])"),
       "model.params[0].qkv_split: " + pieces + ", got [1, 1, 1, 1, 1]"},
      {param(R"("shape": [9, 4], "qkv_split": 3)"), "model.params[0].qkv_split: " + pieces + ", got 3"},
      {R"({"model": {"params": [{"name": "w", "shape": [9], "optimizer": "adam", "qkv_split": [1, 1, 1]}]}})",
       "model.params[0].qkv_split: expected positive integers whose sum divides dim 0 of a 2-D shape (9), "
       "got "
       "[1, 1, 1]"},
      {R"({"model": {"params": []}})", "model.params: expected a non-empty array of parameters, got []"},
      {R"({"model": {"params": [3]}})", "model.params[0]: expected an object, got 3"},
  });
}

TEST(ConfigRefusal, NamesAFusedWeightThatIsNoMuonMatrixWhereFusedWeightsAreTakenApart) {
  const auto job = [](const char* split_qkv, const char* optimizer) {
    return text(R"({{"model": {{"params": [{{"name": "v", "shape": [9, 4]}},
                    {{"name": "w", "shape": [9, 4], "optimizer": "{}", "qkv_split": [1, 1, 1]}}]}},
                    "muon": {{"split_qkv": {}}}}})",
                optimizer, split_qkv);
  };
  expect_refusals({
      {job("true", "adam"),
       "model.params[1].qkv_split: expected [], as muon.split_qkv is true and the optimizer of w is adam, "
       "got "
       "[1, 1, 1]"},
      {job("1", "muon"), "muon.split_qkv: expected true or false, got 1"},
  });
  EXPECT_EQ(refusal(job("true", "muon")), "");
  EXPECT_EQ(refusal(job("false", "adam")), "") << "the tag does nothing";
  EXPECT_TRUE(read(job("true", "muon")).muon.split_qkv);
  EXPECT_FALSE(read(job("false", "muon")).muon.split_qkv);
}

TEST(ConfigRefusal, WantsExactlyOneModel) {
  const std::string one = "model: expected exactly one of preset, transformer, safetensors, params, got ";
  const std::string transformer =
      R"("transformer": {"hidden": 8, "layers": 1, "heads": 2, "ffn_hidden": 8, "vocab": 4})";
  expect_refusals({
      {"{}", one + "none of them"},
      {R"({"model": {}})", one + "none of them"},
      {text(R"({{"model": {{{}, "params": [{{"name": "w", "shape": [1, 1]}}]}}}})", transformer),
       one + "transformer and params"},
      {R"({"model": {"transformer": {"hidden": 8}}})",
       "model.transformer.layers: expected an integer in 1..100000, got nothing"},
      {R"({"model": {"transformer": {"hidden": 9, "layers": 1, "heads": 2, "ffn_hidden": 8, "vocab": 4}}})",
       "model.transformer.head_dim: expected a value, as heads (2) does not divide hidden (9), got nothing"},
      {R"({"model": {"transformer": {"hidden": 8, "layers": 1, "heads": 4, "kv_heads": 3,
                                  "ffn_hidden": 8, "vocab": 4}}})",
       "model.transformer.kv_heads: expected a divisor of model.transformer.heads (4), got 3"},
  });
}

TEST(ConfigRefusal, NamesAnInjectionThatCanNotHappen) {
  const auto inject = [](const std::string& members) {
    return minimal_and(text(R"("gradients": {{"inject": [{{{}}}]}})", members));
  };
  expect_refusals({
      {inject(R"("param": "w", "value": "nan", "step": 12)"),
       "gradients.inject[0].step: expected a step in 0..11 (run.warmup_steps + run.steps are 12), got 12"},
      {inject(R"("param": "w", "value": "NaN")"),
       "gradients.inject[0].value: expected one of nan, inf, -inf, got "
       "\"NaN\", did you mean nan?"},
      {inject(R"("value": "nan")"), "gradients.inject[0].param: expected a non-empty string, got nothing"},
      {inject(R"("param": "w", "value": "nan", "row": -1)"),
       "gradients.inject[0].row: expected an integer in 0..9223372036854775807, got -1"},
  });
}

}  // namespace
}  // namespace muonbench::testing
