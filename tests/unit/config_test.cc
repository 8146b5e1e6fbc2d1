// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "tests/unit/config_sample.h"
#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/config/json_tree.h"
#include "src/config/key_path.h"

namespace muonbench::testing {
namespace {

TEST(Config, FillsInTheDefaultsOfTheContract) {
  const RunConfig config = read(kMinimal);
  EXPECT_EQ(config.name, "job");
  EXPECT_EQ(config.modes, (std::vector<std::string>{"layer_sharded", "duplicated", "adam_dim0"}));
  EXPECT_EQ(config.parallelism.tp, 1);
  EXPECT_EQ(config.parallelism.pad_for_alignment, 16);
  EXPECT_EQ(config.muon.lr, 3e-4);
  EXPECT_EQ(config.muon.momentum, 0.95);
  EXPECT_TRUE(config.muon.nesterov);
  EXPECT_EQ(config.muon.weight_decay, 0.01);
  EXPECT_EQ(config.muon.num_ns_steps, 5);
  EXPECT_EQ(config.muon.home_policy, HomePolicy::kLptNsCost);
  EXPECT_EQ(config.adam.lr, 1e-3);
  EXPECT_EQ(config.adam.beta2, 0.95);
  EXPECT_EQ(config.gradients.seed, 1234U);
  EXPECT_EQ(config.run.transport, Transport::kMpi);
  EXPECT_EQ(config.run.param_dtype, DType::kBf16);
  EXPECT_EQ(config.run.warmup_steps, 2);
  EXPECT_EQ(config.run.steps, 10);
  EXPECT_EQ(config.run.timeout_seconds, 600);
  ASSERT_TRUE(config.model.params.has_value());
  const ParamConfig& w = config.model.params->front();
  EXPECT_EQ(w.shape, (std::vector<std::int64_t>{9, 16}));
  EXPECT_EQ(w.optimizer, "muon");
  EXPECT_FALSE(w.tp_dim.has_value());
  EXPECT_TRUE(w.gtp_remat);
}

/// Every key away from its default.
RunConfig all_keys() {
  return read(R"({
    "schema_version": 1, "name": "label", "modes": ["duplicated"],
    "model": {"params": [{"name": "q", "shape": [24, 4], "optimizer": "adam", "tp_dim": 1, "gtp_remat": false,
                          "repeat": 3, "gradient": "ones", "gradient_scale": -2.5, "qkv_split": [8, 2, 2]}]},
    "parallelism": {"tp": 2, "gtp_remat": 4, "pad_for_alignment": 0},
    "muon": {"lr": 0.5, "momentum": 0.25, "nesterov": false, "weight_decay": 0.125,
             "weight_decay_method": "palm", "coefficient_type": "custom",
             "custom_coefficients": [[1, 2, 3], [4, 5, -6.5]],
             "num_ns_steps": 7, "scale_mode": "shape_scaling", "extra_scale_factor": 0.75,
             "fp32_matmul_prec": "highest", "ns_algorithm": "syrk",
             "ns_batch_size": 4, "split_qkv": false, "home_policy": "explicit",
             "homes": {"q.1": [3, 1]}, "concurrent_groups": false},
    "adam": {"lr": 0.0625, "beta1": 0.5, "beta2": 0.75, "eps": 0.001, "weight_decay": 0,
             "decoupled_weight_decay": false},
    "gradients": {"fill": "zeros", "seed": 18446744073709551615, "scale": 3,
                  "inject": [{"param": "q.1", "step": 4, "row": 2, "column": 1, "value": "-inf"}]},
    "run": {"backend": "cpu", "transport": "mpi", "param_dtype": "fp32", "warmup_steps": 0, "steps": 5,
            "timing": "phases", "verify": false, "timeout_seconds": 0.5}})");
}

TEST(Config, SetsTheMemberOfEveryKeyOfModelGradientsAndRun) {
  const RunConfig config = all_keys();
  EXPECT_EQ(config.name, "label");
  EXPECT_EQ(config.modes, std::vector<std::string>{"duplicated"});
  const ParamConfig& q = config.model.params->front();
  EXPECT_EQ(q.optimizer, "adam");
  EXPECT_EQ(q.tp_dim, 1);
  EXPECT_FALSE(q.gtp_remat);
  EXPECT_EQ(q.repeat, 3);
  EXPECT_EQ(q.gradient, "ones");
  EXPECT_EQ(q.gradient_scale, -2.5);
  EXPECT_EQ(q.qkv_split, (std::vector<std::int64_t>{8, 2, 2}));
  EXPECT_EQ(config.parallelism.tp, 2);
  EXPECT_EQ(config.parallelism.gtp_remat, 4);
  EXPECT_EQ(config.parallelism.pad_for_alignment, 0);
  EXPECT_EQ(config.gradients.fill, GlobalFill::kZeros);
  EXPECT_EQ(config.gradients.seed, 18446744073709551615U);
  EXPECT_EQ(config.gradients.scale, 3);
  ASSERT_EQ(config.gradients.inject.size(), 1U);
  EXPECT_EQ(config.gradients.inject[0].param, "q.1");
  EXPECT_EQ(config.gradients.inject[0].step, 4);
  EXPECT_EQ(config.gradients.inject[0].row, 2);
  EXPECT_EQ(config.gradients.inject[0].column, 1);
  EXPECT_EQ(config.gradients.inject[0].value, "-inf");
  EXPECT_EQ(config.run.param_dtype, DType::kFp32);
  EXPECT_EQ(config.run.warmup_steps, 0);
  EXPECT_EQ(config.run.steps, 5);
  EXPECT_EQ(config.run.timing, Timing::kPhases);
  EXPECT_FALSE(config.run.verify);
  EXPECT_EQ(config.run.timeout_seconds, 0.5);
}

TEST(Config, SetsTheMemberOfEveryKeyOfMuonAndAdam) {
  const RunConfig config = all_keys();
  const MuonConfig& muon = config.muon;
  EXPECT_EQ(muon.lr, 0.5);
  EXPECT_EQ(muon.momentum, 0.25);
  EXPECT_FALSE(muon.nesterov);
  EXPECT_EQ(muon.weight_decay, 0.125);
  EXPECT_EQ(muon.weight_decay_method, WeightDecayMethod::kPalm);
  EXPECT_EQ(muon.coefficient_type, "custom");
  EXPECT_EQ(muon.custom_coefficients, (std::vector<NsCoefficients>{{1, 2, 3}, {4, 5, -6.5}}));
  EXPECT_EQ(muon.num_ns_steps, 7);
  EXPECT_EQ(muon.scale_mode, ScaleMode::kShapeScaling);
  EXPECT_EQ(muon.extra_scale_factor, 0.75);
  EXPECT_EQ(muon.fp32_matmul_prec, MatmulPrecision::kHighest);
  EXPECT_EQ(muon.ns_algorithm, NsAlgorithm::kSyrk);
  EXPECT_EQ(muon.ns_batch_size, 4);
  EXPECT_EQ(muon.home_policy, HomePolicy::kExplicit);
  EXPECT_EQ(muon.homes, (std::map<std::string, std::pair<int, int>>{{"q.1", {3, 1}}}));
  EXPECT_FALSE(muon.concurrent_groups);
  EXPECT_EQ(config.adam.lr, 0.0625);
  EXPECT_EQ(config.adam.beta1, 0.5);
  EXPECT_EQ(config.adam.beta2, 0.75);
  EXPECT_EQ(config.adam.eps, 0.001);
  EXPECT_EQ(config.adam.weight_decay, 0);
  EXPECT_FALSE(config.adam.decoupled_weight_decay);
}

TEST(Config, FillsInWhatATransformerLeavesOut) {
  const RunConfig config = read(
      R"({"model": {"transformer": {"hidden": 96, "layers": 2, "heads": 8, "ffn_hidden": 64,
                                   "vocab": 10}}})");
  ASSERT_TRUE(config.model.transformer.has_value());
  EXPECT_EQ(config.model.transformer->kv_heads, 8);
  EXPECT_EQ(config.model.transformer->head_dim, 12);
}

TEST(Config, AcceptsCommentsByteOrderMarkAndAnyLineEnds) {
  EXPECT_EQ(read("\xef\xbb\xbf{ // a\r\n\"name\": \"n\\u00e9\xc3\xa9\", /* b\r\n */ \"model\": {\"params\":\r"
                 "[{\"name\": \"w\", \"shape\": [1, 1]}]}}\r\n")
                .name,
            "n\xc3\xa9\xc3\xa9");
}

TEST(Config, TakesIntegersInEveryNotationThatIsExact) {
  for (const char* const ten : {"10", "10.0", "1e1", "1E+1", "100e-1", "0.1e2", "1.0e+01"})
    EXPECT_EQ(read(kMinimal, {std::string("run.steps=") + ten}).run.steps, 10) << ten;
  EXPECT_EQ(exact_integer("9007199254740993.0"), 9007199254740993U) << "a double would round it";
  EXPECT_EQ(exact_integer("18446744073709551615e0"), 18446744073709551615U);
  EXPECT_EQ(exact_integer("-0.0"), 0U);
  for (const char* const other : {"1.5", "3.00000000000000000001", "1e-400", "18446744073709551616.0", "1e20",
                                  "-1", "1e999999999999999999999", "1e-999999999999999999999"})
    EXPECT_FALSE(exact_integer(other).has_value()) << other;
}

TEST(Config, ReadsItsOwnResolvedFormAsTheSameConfiguration) {
  const std::vector<std::string> jobs = {
      std::string(kMinimal),
      R"({"model": {"transformer": {"hidden": 96, "layers": 2, "heads": 8, "kv_heads": 2,
                    "ffn_hidden": 64, "vocab": 10, "fused_qkv": true}},
          "gradients": {"seed": 18446744073709551615, "scale": 0.1, "fill": "ones"}})",
      R"({"model": {"params": [{"name": "a.b/c~\"\n", "shape": [8, 4], "repeat": 2, "tp_dim": 0,
                                "qkv_split": [2, 1, 1]},
                               {"name": "v", "shape": [3], "optimizer": "adam", "gradient": "none"}]},
          "muon": {"coefficient_type": "custom", "custom_coefficients": [[0.1, -1e-7, 3]],
                   "home_policy": "explicit", "homes": {"a.b/c~\"\n.1": [1, 0]}, "lr": 1.1754944e-38},
          "gradients": {"inject": [{"param": "a.b/c~\"\n.0", "value": "nan"}]}})"};
  for (const std::string& job : jobs) {
    const RunConfig first = read(job);
    const RunConfig second = read_config(first.resolved_json, "other.json", {}, vocabulary());
    EXPECT_EQ(second.resolved_json, first.resolved_json);
    EXPECT_EQ(second.name, first.name);
    EXPECT_EQ(second.muon.lr, first.muon.lr);
    EXPECT_EQ(second.muon.homes, first.muon.homes);
    EXPECT_EQ(second.gradients.seed, first.gradients.seed);
  }
}

TEST(Config, ResolvesTheFillOfEntriesThatNameNone) {
  EXPECT_EQ(read(kMinimal, {"gradients.fill=ones"}).model.params->front().gradient, "ones");
}

TEST(Config, ResolvesEvenANameThatIsNoText) {
  const RunConfig config = read_config(kMinimal, "dir/\xff.json", {}, vocabulary());
  EXPECT_NE(config.resolved_json.find("\"name\": \"\xef\xbf\xbd\""), std::string::npos)
      << config.resolved_json;
}

TEST(Config, FollowsTheBackendWithItsTransport) {
  const ConfigVocabulary both = {{"duplicated"}, {"cpu", "cuda"}};
  EXPECT_EQ(read_config(kMinimal, "j", {"run.backend=cuda"}, both).run.transport, Transport::kNccl);
  EXPECT_EQ(read_config(kMinimal, "j", {"run.backend=cuda", "run.transport=mpi"}, both).run.transport,
            Transport::kMpi);
  EXPECT_EQ(read_config(kMinimal, "j", {}, both).run.transport, Transport::kMpi);
}

TEST(Override, SetsAKeyByItsPathAsJsonOrElseAsText) {
  const RunConfig config =
      read(kMinimal, {"run.steps=3", "name=a=b", "muon.weight_decay_method=l2", "model.params.0.shape=[4, 5]",
                      "modes=[\"duplicated\"]", "run.steps=4"});
  EXPECT_EQ(config.run.steps, 4) << "the last one wins";
  EXPECT_EQ(config.name, "a=b");
  EXPECT_EQ(config.muon.weight_decay_method, WeightDecayMethod::kL2);
  EXPECT_EQ(config.model.params->front().shape, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(config.modes, std::vector<std::string>{"duplicated"});
}

TEST(Override, GivesAModelToAFileThatHasNone) {
  EXPECT_EQ(read("{}", {R"(model.params=[{"name": "x", "shape": [2, 3]}])"}).model.params->front().name, "x");
}

TEST(Json, RendersValuesOnOneLineAndCutsThemBetweenCharacters) {
  const JsonNode node =
      parse_json(R"({"a": [1, 2.50, null, true], "b": "x\"\n\u0001"})", {"s", "", 0, {}, {}});
  EXPECT_EQ(render(node), R"({"a": [1, 2.50, null, true], "b": "x\"\n\u0001"})");
  EXPECT_EQ(cut_text("a\xc3\xa9z", 2), "a...");
  EXPECT_EQ(cut_text("a\xc3\xa9z", 3), "a\xc3\xa9...");
  EXPECT_EQ(cut_text("a\xc3\xa9z", 4), "a\xc3\xa9z");
}

TEST(TextFile, IsReadWholeOrRefusedWithTheReasonOfTheSystem) {
  const std::string path = ::testing::TempDir() + "read_text_file.txt";
  const std::string content = std::string(100'000, 'x') + '\0' + "\r\n";
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(read_text_file(path), content);
  const auto why = [](const std::string& unreadable) -> std::string {
    try {
      static_cast<void>(read_text_file(unreadable));
      return "";
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(why(path + ".none"), path + ".none: cannot be read: No such file or directory");
  EXPECT_EQ(why(::testing::TempDir()), ::testing::TempDir() + ": cannot be read: Is a directory");
}

}  // namespace
}  // namespace muonbench::testing
