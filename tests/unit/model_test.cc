// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/model/build_params.h"

namespace muonbench {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

ParamConfig param(const std::string& name, std::vector<std::int64_t> shape,
                  const std::string& optimizer = "muon") {
  ParamConfig config;
  config.name = name;
  config.shape = std::move(shape);
  config.optimizer = optimizer;
  return config;
}

ParamSet build(const std::vector<ParamConfig>& params, const GradientsConfig& gradients = {}) {
  ModelConfig model;
  model.params = params;
  return build_params(model, gradients);
}

template <class Function>
std::string refusal(const Function& function) {
  try {
    static_cast<void>(function());
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}
std::string build_refusal(const std::vector<ParamConfig>& params, const GradientsConfig& gradients = {}) {
  return refusal([&] { return build(params, gradients); });
}

TransformerConfig small_transformer() {
  TransformerConfig dims;
  dims.hidden = 64;
  dims.layers = 2;
  dims.heads = 8;
  dims.kv_heads = 2;
  dims.head_dim = 16;
  dims.ffn_hidden = 160;
  dims.vocab = 1000;
  return dims;
}

ParamSet build(const TransformerConfig& dims) {
  ModelConfig model;
  model.transformer = dims;
  return build_params(model, {});
}

/// "name rows x cols optimizer tp_dim gtp_remat", "-" where it is not split.
std::string line(const Parameter& p) {
  const std::string shape =
      p.dims == 1 ? text("{}", p.shape.rows) : text("{} x {}", p.shape.rows, p.shape.cols);
  return text("{} {} {} {} {}", p.name, shape, p.optimizer == OptimizerKind::kMuon ? "muon" : "adam",
              p.tp_dim ? text("{}", *p.tp_dim) : "-", p.gtp_remat ? "g" : "-");
}
std::vector<std::string> lines(const ParamSet& set) {
  std::vector<std::string> all;
  for (const Parameter& p : set.params) all.push_back(line(p));
  return all;
}

TEST(BuildParams, ListsADenseTransformerInOrder) {
  TransformerConfig dims = small_transformer();
  dims.layers = 1;
  EXPECT_EQ(lines(build(dims)), (std::vector<std::string>{
                                    "embedding 1000 x 64 adam 0 g",
                                    "layers.0.attention.q 128 x 64 muon 0 g",
                                    "layers.0.attention.k 32 x 64 muon 0 g",
                                    "layers.0.attention.v 32 x 64 muon 0 g",
                                    "layers.0.attention.o 64 x 128 muon 1 g",
                                    "layers.0.mlp.gate 160 x 64 muon 0 g",
                                    "layers.0.mlp.up 160 x 64 muon 0 g",
                                    "layers.0.mlp.down 64 x 160 muon 1 g",
                                    "layers.0.norms 128 adam - -",
                                    "final_norm 64 adam - -",
                                    "output 1000 x 64 adam 0 g",
                                }));
}

TEST(BuildParams, FusesAndTiesTransformerWeightsOnDemand) {
  TransformerConfig dims = small_transformer();
  dims.fused_qkv = dims.fused_gate_up = dims.tied_embeddings = true;
  const ParamSet set = build(dims);
  EXPECT_EQ(lines(set),
            (std::vector<std::string>{
                "embedding 1000 x 64 adam 0 g", "layers.0.attention.qkv 192 x 64 muon 0 g",
                "layers.0.attention.o 64 x 128 muon 1 g", "layers.0.mlp.gate_up 320 x 64 muon 0 g",
                "layers.0.mlp.down 64 x 160 muon 1 g", "layers.0.norms 128 adam - -",
                "layers.1.attention.qkv 192 x 64 muon 0 g", "layers.1.attention.o 64 x 128 muon 1 g",
                "layers.1.mlp.gate_up 320 x 64 muon 0 g", "layers.1.mlp.down 64 x 160 muon 1 g",
                "layers.1.norms 128 adam - -", "final_norm 64 adam - -"}));
  // One query group: 8 / 2 query heads, a key head, a value head, of 16 rows each.
  EXPECT_EQ(set[ParamIndex(1)].qkv_split, (std::vector<std::int64_t>{64, 16, 16}));
}

TEST(BuildParams, FusingChangesNamesButNoElements) {
  TransformerConfig fused = small_transformer();
  fused.fused_qkv = fused.fused_gate_up = true;
  const ParamSet apart = build(small_transformer());
  // 2 * (2 * 128 + 2 * 32 + 3 * 160) * 64 in Muon; 2 * 1000 * 64 + 2 * 128 + 64 in Adam.
  EXPECT_EQ(apart.elements(OptimizerKind::kMuon), Elements(102'400));
  EXPECT_EQ(apart.elements(OptimizerKind::kAdam), Elements(128'320));
  EXPECT_EQ(apart.elements(), Elements(230'720));
  EXPECT_EQ(build(fused).elements(), apart.elements());
}

TEST(BuildParams, RepeatsAnEntryUnderNumberedNames) {
  ParamConfig w = param("w", {9, 16});
  w.repeat = 3;
  const ParamSet set = build({w, param("v", {7}, "adam")});
  EXPECT_EQ(lines(set), (std::vector<std::string>{"w.0 9 x 16 muon - g", "w.1 9 x 16 muon - g",
                                                  "w.2 9 x 16 muon - g", "v 7 adam - g"}));
  EXPECT_EQ(set[ParamIndex(3)].shape, (Shape{7, 1}));
  EXPECT_EQ(set.find("w.2"), ParamIndex(2));
  EXPECT_FALSE(set.find("w").has_value());
  std::set<std::uint64_t> keys;
  for (const Parameter& p : set.params) keys.insert(p.value_key);
  EXPECT_EQ(keys.size(), 4U) << "equal keys would make equal weights";
}

TEST(BuildParams, GivesAParameterTheSameValuesWhereverItStands) {
  EXPECT_EQ(build({param("a", {2, 2}), param("b", {3, 3})})[ParamIndex(1)].value_key,
            build({param("b", {9, 9})})[ParamIndex(0)].value_key);
}

TEST(BuildParams, CombinesGradientsOfEntryAndModel) {
  ParamConfig none = param("none", {1, 1});
  none.gradient = "none";
  ParamConfig twice = param("twice", {1, 1});
  twice.gradient = "random";
  twice.gradient_scale = 2;
  GradientsConfig gradients;
  gradients.fill = GlobalFill::kOnes;
  gradients.scale = -3;
  const ParamSet set = build({none, twice, param("plain", {1, 1})}, gradients);
  EXPECT_FALSE(set[ParamIndex(0)].has_gradient());
  EXPECT_EQ(set[ParamIndex(1)].gradient, GradientFill::kRandom);
  EXPECT_EQ(set[ParamIndex(1)].gradient_scale, -6);
  EXPECT_EQ(set[ParamIndex(2)].gradient, GradientFill::kOnes);
  EXPECT_EQ(set[ParamIndex(2)].gradient_scale, -3);
  EXPECT_EQ(set[ParamIndex(2)].group, "dense");
}

TEST(BuildParams, RefusesTwoParametersOfOneNameNamingBothPlaces) {
  EXPECT_EQ(build_refusal({param("w", {16, 16}), param("w", {32, 16})}),
            "model.params[1].name: expected a name that no other parameter has, got \"w\", which "
            "model.params[0] has too");
  ParamConfig repeated = param("w", {16, 16});
  repeated.repeat = 3;
  const std::string message =
      "model.params[2].name: expected a name that no other parameter has, got \"w.1\", which "
      "model.params[{}] has too";
  EXPECT_EQ(build_refusal({param("v", {1, 1}), repeated, param("w.1", {1, 1})}),
            "model.params[2].name: expected a name that no other parameter has, got \"w.1\", which "
            "model.params[1] has too");
  EXPECT_EQ(build_refusal({param("w.1", {1, 1}), param("v", {1, 1}), repeated}),
            "model.params[2].name: expected a name that no other parameter has, got \"w.1\", which "
            "model.params[0] has too");
}

TEST(BuildParams, RefusesMuonOnOneDimension) {
  EXPECT_EQ(build_refusal({param("v", {1, 7}), param("w", {7})}),
            "model.params[1].shape: expected two sizes, as the optimizer of w is muon (adam takes one too), "
            "got [7]");
  EXPECT_EQ(build_refusal({param("w", {7}, "adam")}), "");
  ParamConfig columns = param("w", {7}, "adam");
  columns.tp_dim = 1;
  EXPECT_EQ(build_refusal({columns}),
            "model.params[0].tp_dim: expected 0 or null, as w has one dimension, got 1");
}

TEST(BuildParams, AcceptsMatricesOfOneRowOrColumn) {
  EXPECT_EQ(build_refusal({param("r", {1, 4096}), param("c", {4096, 1}), param("s", {1, 1})}), "");
}

TEST(BuildParams, CountsBeyondTwoToThe31) {
  EXPECT_EQ(build({param("w", {5, 536'870'913})}).elements(), Elements(2'684'354'565));
}

TEST(BuildParams, RefusesSizesThatOverflow) {
  EXPECT_EQ(build_refusal({param("w", {kInt64Max, 2})}),
            "model.params[0].shape: expected sizes of at least 1 whose product, 18 bytes each, fits a signed "
            "64-bit "
            "number, got [9223372036854775807, 2]");
  const std::int64_t most = kInt64Max / 18;
  EXPECT_EQ(build_refusal({param("w", {most, 1}, "adam")}), "");
  EXPECT_NE(build_refusal({param("w", {most + 1, 1}, "adam")}), "");
  EXPECT_NE(build_refusal({param("w", {most}, "adam"), param("v", {1}, "adam")}), "")
      << "each fits, their sum does not";
  ParamConfig many = param("w", {most / 1000}, "adam");
  many.repeat = 1000;
  EXPECT_EQ(build_refusal({many}), "");
  many.repeat = 1001;
  EXPECT_NE(build_refusal({many}).find("model.params[0]: expected the bytes of all parameters"),
            std::string::npos);
}

TEST(BuildParams, RefusesTransformersThatOverflow) {
  TransformerConfig dims = small_transformer();
  dims.heads = dims.head_dim = std::int64_t{1} << 32;
  EXPECT_EQ(refusal([&] { return build(dims); }),
            "model.transformer: expected heads * head_dim to fit a signed 64-bit number, got 4294967296 * "
            "4294967296");
  dims = small_transformer();
  dims.vocab = kInt64Max;
  EXPECT_NE(refusal([&] { return build(dims); }).find("model.transformer: embedding.shape: expected"),
            std::string::npos);
}

TEST(BuildParams, RefusesAScaleThatFp32DoesNotHold) {
  ParamConfig w = param("w", {1, 1});
  w.gradient_scale = 1e30;
  GradientsConfig gradients;
  gradients.scale = 1e30;
  EXPECT_EQ(build_refusal({w}, gradients),
            "model.params[0].gradient_scale: expected a finite fp32 number after times gradients.scale "
            "(1e+30), got "
            "1e+30");
}

TEST(Injections, AreResolvedAgainstTheModel) {
  GradientsConfig gradients;
  gradients.inject = {{"b", 3, 8, 15, "nan"}, {"a", 0, 0, 0, "-inf"}, {"v", 1, 6, 0, "inf"}};
  const ParamSet set = build({param("a", {1, 1}), param("b", {9, 16}), param("v", {7}, "adam")});
  const std::vector<GradientInjection> injections = resolve_injections(gradients, set);
  ASSERT_EQ(injections.size(), 3U);
  EXPECT_EQ(injections[0].param, ParamIndex(1));
  EXPECT_EQ(injections[0].step, 3);
  EXPECT_EQ(injections[0].row, 8);
  EXPECT_EQ(injections[0].col, 15);
  EXPECT_TRUE(std::isnan(injections[0].value));
  EXPECT_EQ(injections[1].value, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(injections[2].param, ParamIndex(2));
  EXPECT_EQ(injections[2].value, std::numeric_limits<float>::infinity());
}

TEST(Injections, AreRefusedOutsideTheModel) {
  ParamConfig frozen = param("frozen", {2, 2});
  frozen.gradient = "none";
  const ParamSet set = build({param("weight", {9, 16}), param("norm", {7}, "adam"), frozen});
  const auto why = [&](const InjectConfig& inject) {
    GradientsConfig gradients;
    gradients.inject = {{"weight", 0, 0, 0, "nan"}, inject};
    return refusal([&] { return resolve_injections(gradients, set); });
  };
  EXPECT_EQ(why({"wieght", 0, 0, 0, "nan"}),
            "gradients.inject[1].param: expected the name of a parameter of the model, got \"wieght\", did "
            "you mean "
            "weight?");
  EXPECT_EQ(why({"weight", 0, 9, 0, "nan"}),
            "gradients.inject[1].row: expected an index in 0..8, as weight is 9 x 16, got 9");
  EXPECT_EQ(why({"weight", 0, 0, 16, "nan"}),
            "gradients.inject[1].column: expected an index in 0..15, as weight is 9 x 16, got 16");
  EXPECT_EQ(why({"norm", 0, 0, 1, "nan"}),
            "gradients.inject[1].column: expected an index in 0..0, as norm is 7 x 1, got 1");
  EXPECT_EQ(why({"frozen", 0, 0, 0, "nan"}),
            "gradients.inject[1].param: expected a parameter with a gradient, got \"frozen\", whose gradient "
            "is none");
}

}  // namespace
}  // namespace muonbench
