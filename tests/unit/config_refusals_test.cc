// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/config_sample.h"
#include <gtest/gtest.h>

#include "src/base/text.h"

namespace muonbench::testing {
namespace {

TEST(ConfigRefusal, NamesLineAndColumnOfASyntaxError) {
  const std::vector<Refusal> cases = {
      {"{\"run\": {},\n \"modes\": [\"duplicated\",]}",
       "line 2, column 25: syntax error while parsing value - unexpected ']'; expected '[', '{', or a "
       "literal "
       "(no comma may follow the last entry)"},
      {"{\"run\": {\"steps\": 3,\n\n}}",
       "line 3, column 1: syntax error while parsing object key - unexpected '}'; expected string literal "
       "(no comma may follow the last entry)"},
      {"{'run': 1}",
       "line 1, column 2: syntax error while parsing object key - invalid literal; last read: '{''; expected "
       "string "
       "literal (strings stand in double quotes)"},
      {"{\"run\": {}} {}",
       "line 1, column 13: syntax error while parsing value - unexpected '{'; expected end of input"},
      {"",
       "line 1, column 1: syntax error while parsing value - unexpected end of input; expected '[', '{', or "
       "a literal "
       "(the text is empty)"},
      {"{\"a\": \"\xff\"}", "line 1, column 8: expected UTF-8, got an ill-formed byte"},
      {"{}\n// \xc0\xaf", "line 2, column 4: expected UTF-8, got an ill-formed byte"},
      {"{\"a\": \"\xed\xa0\x80\"}", "line 1, column 8: expected UTF-8, got an ill-formed byte"},
      {std::string("{}\0{", 4), "line 1, column 3: expected JSON, got a NUL byte"},
  };
  expect_refusals(cases);
  for (const char* const relaxed : {"{steps: 1}", "{\"run\": NaN}", "{\"a\": 010}", "{\"a\": +1}",
                                    "{\"a\": .5}", "{} # c", "{} /* c", "{\"a\": \"\\x\"}", "{\"a\" 1}", "{"})
    EXPECT_NE(refusal(relaxed).find("dir/job.json: line 1, column "), std::string::npos) << refusal(relaxed);
}

TEST(ConfigRefusal, NamesTheTopLevelThatIsNoObject) {
  expect_refusals({{"[1, 2]", "expected an object at the top level, got [1, 2]"},
                   {"null", "expected an object at the top level, got null"},
                   {"\"x\"", "expected an object at the top level, got \"x\""}});
}

TEST(ConfigRefusal, NamesAnUnknownKeyAndTheNearestOne) {
  expect_refusals({
      {minimal_and(R"("muon": {"nestrov": true})"), "muon.nestrov: unknown key, did you mean nesterov?"},
      {minimal_and(R"("parallelism": {"gtp_remt": 2})"),
       "parallelism.gtp_remt: unknown key, did you mean gtp_remat?"},
      {minimal_and(R"("run": {"warmup_step": 3})"),
       "run.warmup_step: unknown key, did you mean warmup_steps?"},
      {minimal_and(R"("steps": 3)"), "steps: unknown key, did you mean run.steps?"},
      {minimal_and(R"("mode": ["duplicated"])"), "mode: unknown key, did you mean modes?"},
      {minimal_and(R"("parallelism": {"gtp": 2})"), "parallelism.gtp: unknown key, did you mean gtp_remat?"},
      {minimal_and(R"("parallelism": {"gpt": 2})"), "parallelism.gpt: unknown key, did you mean gtp_remat?"},
      {minimal_and(R"("gpt": 2)"),
       "gpt: unknown key, did you mean parallelism.gtp_remat or model.params[].gtp_remat?"},
      {minimal_and(R"("warmpu": 3)"), "warmpu: unknown key, did you mean run.warmup_steps?"},
      {minimal_and(R"("domain": {"gtp": 2})"),
       "domain: unknown key, known here: schema_version, name, model, parallelism, modes, muon, adam, "
       "layer_wise, gradients, run, require"},
      {R"({"model": {"params": [{"name": "v", "shape": [1, 1]}, {"name": "w", "shap": [1, 1]}]}})",
       "model.params[1].shap: unknown key, did you mean shape?"},
      {R"({"model": {"transformer": {"ffn_hiden": 4}}})",
       "model.transformer.ffn_hiden: unknown key, did you mean ffn_hidden?"},
      {minimal_and(R"("gradients": {"inject": [{"col": 1}]})"),
       "gradients.inject[0].col: unknown key, known here: "
       "param, step, row, column, value"},
  });
}

TEST(ConfigRefusal, NamesAKeyThatStandsTwiceInOneObject) {
  expect_refusals({
      {R"({"muon": {"lr": 1, "momentum": 0, "lr": 1}})",
       "muon.lr: expected each key once, got it twice in one object"},
      {R"({"a": {}, "a": {}})", "a: expected each key once, got it twice in one object"},
      {R"({"model": {"params": [{}, {"x": [{"b": 1, "b": 2}]}]}})",
       "model.params[1].x[0].b: expected each key once, got it twice in one object"},
  });
  EXPECT_EQ(refusal(minimal_and(R"("adam": {"lr": 1}, "muon": {"lr": 1})")), "") << "not the same object";
}

TEST(ConfigRefusal, EndsNestingBeforeTheStackDoes) {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string deep = "{\"model\":";
    for (int i = 0; i < 100'000; ++i) deep += open;
    EXPECT_NE(refusal(deep).find("expected at most 64 nested lists and objects, got more"),
              std::string::npos);
  }
}

TEST(ConfigRefusal, NamesNumberAndRangeOfAnInteger) {
  const std::vector<std::string> wrong = {
      "-1",   "3.5",  "\"10\"", "true",      "null", "1e400", "18446744073709551716",
      "[10]", "1e-1", "1e10",   "4294967296"};
  const std::vector<std::pair<std::string, std::string>> keys = {
      {"run.steps", "1..1000000000"},       {"run.warmup_steps", "0..1000000000"},
      {"parallelism.tp", "1..1048576"},     {"parallelism.gtp_remat", "1..1048576"},
      {"muon.num_ns_steps", "1..100"},      {"parallelism.pad_for_alignment", "0..1048576"},
      {"muon.ns_batch_size", "1..1048576"}, {"model.params[0].repeat", "1..1000000"}};
  for (const auto& [path, range] : keys)
    for (const std::string& number : wrong) {
      const std::size_t dot = path.rfind('.');
      const std::string key = path.substr(dot + 1);
      const std::string json =
          path.starts_with("model")
              ? text(R"({{"model": {{"params": [{{"name": "w", "shape": [9, 16], "{}": {}}}]}}}})", key,
                     number)
              : minimal_and(text(R"("{}": {{"{}": {}}})", path.substr(0, dot), key, number));
      EXPECT_EQ(refusal(json),
                text("dir/job.json: {}: expected an integer in {}, got {}", path, range, number));
    }
  expect_refusals({
      {minimal_and(R"("run": {"steps": 0})"), "run.steps: expected an integer in 1..1000000000, got 0"},
      {minimal_and(R"("muon": {"num_ns_steps": 0})"),
       "muon.num_ns_steps: expected an integer in 1..100, got 0"},
      {minimal_and(R"("parallelism": {"gtp_remat": 0})"),
       "parallelism.gtp_remat: expected an integer in 1..1048576, got 0"},
      {minimal_and(R"("gradients": {"seed": -1})"),
       "gradients.seed: expected an integer in 0..18446744073709551615, got -1"},
      {minimal_and(R"("gradients": {"seed": 18446744073709551616})"),
       "gradients.seed: expected an integer in 0..18446744073709551615, got 18446744073709551616"},
      {minimal_and(R"("schema_version": 2)"), "schema_version: expected 1, got 2"},
      {minimal_and(R"("parallelism": {"tp": 2048, "gtp_remat": 1024})"),
       "parallelism: expected tp * gtp_remat * dp * pp of at most 1048576, got 2048 * 1024 * 1 * 1"},
      {minimal_and(R"("parallelism": {"tp": 1048576, "gtp_remat": 1048576, "dp": 1048576, "pp": 1048576})"),
       "parallelism: expected tp * gtp_remat * dp * pp of at most 1048576, got 1048576 * 1048576 * 1048576 * "
       "1048576"},
      {minimal_and(R"("parallelism": {"ep": 2048, "expert_tp": 1024})"),
       "parallelism: expected expert_tp * ep * expert_gtp_remat * pp of at most 1048576, got 1024 * 2048 * 1 "
       "* "
       "1"},
  });
  EXPECT_EQ(refusal(minimal_and(R"("run": {"warmup_steps": 0, "steps": 1})")), "");
}

TEST(ConfigRefusal, NamesNumberAndRangeOfANumber) {
  const std::string fp32 = "expected a number in [0, 3.4028235e+38]";
  for (const std::string value : {"\"0.1\"", "null", "true", "-0.5", "1e39", "1e400"})
    expect_refusals(
        {{minimal_and(text(R"("muon": {{"lr": {}}})", value)), text("muon.lr: {}, got {}", fp32, value)},
         {minimal_and(text(R"("adam": {{"weight_decay": {}}})", value)),
          text("adam.weight_decay: {}, got {}", fp32, value)}});
  expect_refusals({
      {minimal_and(R"("muon": {"momentum": 1})"), "muon.momentum: expected a number in [0, 1), got 1"},
      {minimal_and(R"("muon": {"momentum": 0.99999999})"),
       "muon.momentum: expected a number in [0, 1), after rounding to fp32 too, got 0.99999999"},
      {minimal_and(R"("muon": {"lr": 1e-60})"),
       "muon.lr: " + fp32 + ", and none that fp32 rounds to 0, got 1e-60"},
      {minimal_and(R"("muon": {"lr": 1e-600})"),
       "muon.lr: " + fp32 + ", and none that fp32 rounds to 0, got 1e-600"},
      {minimal_and(R"("adam": {"beta2": -1e-3})"), "adam.beta2: expected a number in [0, 1), got -1e-3"},
      {minimal_and(R"("adam": {"eps": 0})"),
       "adam.eps: expected a number in [1.1754944e-38, 3.4028235e+38], got 0"},
      {minimal_and(R"("run": {"timeout_seconds": 0.0})"),
       "run.timeout_seconds: expected a number in (0, 1000000000], got 0.0"},
      {minimal_and(R"("run": {"timeout_seconds": 1e-400})"),
       "run.timeout_seconds: expected a number in (0, 1000000000], got 1e-400"},
      {minimal_and(R"("run": {"verify": 1})"), "run.verify: expected true or false, got 1"},
      {minimal_and(R"("name": 3)"), "name: expected a non-empty string, got 3"},
      {minimal_and(R"("name": "")"), "name: expected a non-empty string, got \"\""},
      {minimal_and(R"("muon": 3)"), "muon: expected an object, got 3"},
  });
}

TEST(ConfigRefusal, ListsTheWordsOfAnUnknownWord) {
  expect_refusals({
      {minimal_and(R"("modes": ["layer_shard"])"),
       "modes[0]: expected one of layer_sharded, duplicated, layer_wise, adam_dim0, adam_replicated, got "
       "\"layer_shard\", did you "
       "mean layer_sharded?"},
      {minimal_and(R"("modes": ["duplicated", "blockwise"])"),
       "modes[1]: expected one of layer_sharded, duplicated, layer_wise, adam_dim0, adam_replicated (this "
       "build does not "
       "honour "
       "blockwise yet), got \"blockwise\""},
      {minimal_and(R"("modes": [])"),
       "modes: expected a non-empty array, each one of layer_sharded, duplicated, layer_wise, "
       "adam_dim0, adam_replicated, got []"},
      {minimal_and(R"("modes": ["duplicated", "duplicated"])"),
       "modes[1]: expected each mode once, got \"duplicated\" again"},
      {minimal_and(R"("muon": {"ns_algorithm": "gem"})"),
       "muon.ns_algorithm: expected one of gemm, syrk, gram, auto, got \"gem\", did you mean gemm?"},
      {minimal_and(R"("muon": {"fp32_matmul_prec": "high"})"),
       "muon.fp32_matmul_prec: expected highest or medium, as run.backend is cpu and BLAS has no TF32, got "
       "\"high\""},
      {minimal_and(R"("muon": {"weight_decay_method": 1})"),
       "muon.weight_decay_method: expected one of decoupled, independent, l2, palm, got 1"},
      {minimal_and(R"("run": {"backend": "cuda"})"),
       "run.backend: expected cpu (this build has no cuda backend; bazel build --config=cuda //:muonbench "
       "makes one that "
       "has), got \"cuda\""},
      {minimal_and(R"("run": {"transport": "nccl"})"),
       "run.transport: expected mpi, as run.backend is cpu and nccl moves device memory alone, got \"nccl\""},
      {minimal_and(R"("run": {"transport": "copy_engine"})"),
       "run.transport: expected mpi, as run.backend is cpu and copy_engine moves device memory alone, got "
       "\"copy_engine\""},
  });
}

TEST(ConfigRefusal, NamesOptionsOfLayerWiseWhereItDoesNotRun) {
  expect_refusals({
      {minimal_and(R"("layer_wise": {"policy": "lpt_numel"})"),
       "layer_wise.policy: expected ping_pong, as layer_wise is not among modes, got \"lpt_numel\""},
      {minimal_and(R"("layer_wise": {"adam": "dim0"})"),
       "layer_wise.adam: expected layer_wise, as layer_wise is not among modes, got \"dim0\""},
      {minimal_and(R"("modes": ["layer_wise"], "layer_wise": {"policy": "round_robin"})"),
       "layer_wise.policy: expected one of ping_pong, lpt_numel, lpt_ns_cost, got \"round_robin\""},
      {minimal_and(R"("adam": {"moment_dtype": "fp16"})"),
       "adam.moment_dtype: expected one of bf16, fp32, got \"fp16\""},
  });
  EXPECT_EQ(refusal(minimal_and(R"("layer_wise": {"policy": "ping_pong", "adam": "layer_wise"})")), "");
  EXPECT_EQ(refusal(minimal_and(R"("modes": ["layer_wise"], "layer_wise": {"adam": "dim0"})")), "");
}

TEST(ConfigRefusal, NamesAWayToTravelThatWouldLoseDigits) {
  EXPECT_EQ(
      refusal(minimal_and(R"("muon": {"return_dtype": "bf16", "fp32_matmul_prec": "highest"})")),
      "dir/job.json: muon.return_dtype: expected fp32, as muon.fp32_matmul_prec is highest and NS ends in "
      "bf16 in medium alone, got \"bf16\"");
  EXPECT_EQ(refusal(minimal_and(R"("muon": {"return_dtype": "bf16"})")), "");
  EXPECT_EQ(refusal(minimal_and(R"("muon": {"return_dtype": "fp32", "fp32_matmul_prec": "highest"})")), "");
}

TEST(ConfigRefusal, NamesAWayToTravelThatNoModeHonours) {
  const std::vector<std::pair<std::string, std::string>> keys = {{"exchange", "\"fused\""},
                                                                 {"return_dtype", "\"bf16\""},
                                                                 {"exchange_chunks", "4"},
                                                                 {"gtp_only_homes", "\"single\""}};
  for (const auto& [key, value] : keys) {
    const std::string muon = R"("muon": {")" + key + "\": " + value + "}";
    const std::string said = refusal(minimal_and(muon + R"(, "modes": ["duplicated", "adam_dim0"])"));
    EXPECT_NE(said.find("muon." + key + ": expected "), std::string::npos) << said;
    EXPECT_NE(said.find("as none of modes is layer_sharded or layer_wise, got " + value), std::string::npos)
        << said;
    EXPECT_EQ(refusal(minimal_and(muon + R"(, "modes": ["duplicated", "layer_sharded"])")), "") << key;
  }
  EXPECT_EQ(refusal(minimal_and(
                R"("muon": {"exchange": "two_stage", "exchange_chunks": 1}, "modes": ["adam_dim0"])")),
            "");
}

TEST(OverrideRefusal, IsHeadedByTheOverride) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"run.stepz=3", "run.stepz: unknown key, did you mean steps?"},
      {"tp=2", "tp: unknown key, did you mean parallelism.tp?"},
      {"run.steps=ten", "run.steps: expected an integer in 1..1000000000, got \"ten\""},
      {"run.steps=1e400", "run.steps: expected an integer in 1..1000000000, got 1e400"},
      {"model.params.0.shape.1=1e400",
       "model.params[0].shape[1]: expected one or two integers in 1..9223372036854775807, got 1e400"},
      {"muon={\"lr\": 1, \"lr\": 2}", "muon.lr: expected each key once, got it twice in one object"},
      {"model.params.0.name.x=1",
       "model.params[0].name: expected an object or a list for the path to go through, got "
       "\"w\""},
      {"model.params.1.shape=[1,1]", "model.params: expected the index of one of 1 entries, got 1"},
      {"model.params.w.shape=[1,1]", "model.params: expected the index of one of 1 entries, got w"},
      {"=3", "expected a dotted path before \"=\", got \"\""},
      {"run..steps=3", "expected a dotted path before \"=\", got \"run..steps\""},
      {"run.steps", "expected KEY=VALUE, got no \"=\""},
      {"name=\xff", "line 1, column 6: expected UTF-8, got an ill-formed byte"},
  };
  for (const auto& [override_text, message] : cases)
    EXPECT_EQ(refusal(kMinimal, {override_text}), text("--set {}: {}", override_text, message));
}

TEST(OverrideRefusal, KeepsAMessageShortWhateverTheValue) {
  const std::string said = refusal(kMinimal, {"model.params=" + std::string(1'000'000, 'x')});
  EXPECT_NE(said.find("model.params: expected a non-empty array of parameters, got \"xxx"),
            std::string::npos);
  EXPECT_LT(said.size(), 400U);
}

}  // namespace
}  // namespace muonbench::testing
