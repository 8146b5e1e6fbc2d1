// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/key_table.h"

#include <limits>

#include "src/config/common_rules.h"
#include "src/ns/coefficients.h"

namespace muonbench {
namespace {

Rule coefficient_types() {
  WordRule rule;
  for (const CoefficientSet& set : coefficient_sets()) rule.allowed.emplace_back(set.name);
  rule.allowed.emplace_back("custom");
  return rule;
}

using C = RunConfig;

std::vector<KeyRow<C>> model_keys() {
  return {
      {"schema_version", integer(1, 1), [](C& c) -> Field { return &c.schema_version; }},
      {"name", TextRule{}, [](C& c) -> Field { return &c.name; }, Presence::kOptional, "file name"},
      {"model.preset", TextRule{}, own<C>, Presence::kOptional, "-"},
      {"model.layers", integer(1, 100'000), own<C>, Presence::kOptional, "all"},
      {"model.safetensors", TextRule{}, own<C>, Presence::kOptional, "-"},
      {"model.transformer", OwnRule{"object", "an object"}, own<C>, Presence::kOptional, "-"},
      {"model.params", OwnRule{"array", "a non-empty array of parameters"}, own<C>, Presence::kOptional, "-"},
      {"parallelism.tp", ranks(), [](C& c) -> Field { return &c.parallelism.tp; }},
      {"parallelism.gtp_remat", ranks(), [](C& c) -> Field { return &c.parallelism.gtp_remat; }},
      {"parallelism.dp", ranks(), [](C& c) -> Field { return &c.parallelism.dp; }},
      {"parallelism.pp", ranks(), [](C& c) -> Field { return &c.parallelism.pp; }},
      {"parallelism.ep", ranks(), [](C& c) -> Field { return &c.parallelism.ep; }},
      {"parallelism.expert_tp", ranks(), [](C& c) -> Field { return &c.parallelism.expert_tp; }},
      {"parallelism.expert_gtp_remat", ranks(),
       [](C& c) -> Field { return &c.parallelism.expert_gtp_remat; }},
      {"parallelism.pad_for_alignment", integer(0, 1U << 20U),
       [](C& c) -> Field { return &c.parallelism.pad_for_alignment; }},
      {"modes", OwnRule{"array", "a non-empty array of modes"}, own<C>, Presence::kOptional,
       R"(["layer_sharded", "duplicated", "adam_dim0"])"},
  };
}

std::vector<KeyRow<C>> muon_keys() {
  return {
      {"muon.lr", non_negative(), [](C& c) -> Field { return &c.muon.lr; }},
      {"muon.momentum", fraction(), [](C& c) -> Field { return &c.muon.momentum; }},
      {"muon.nesterov", FlagRule{}, [](C& c) -> Field { return &c.muon.nesterov; }},
      {"muon.weight_decay", non_negative(), [](C& c) -> Field { return &c.muon.weight_decay; }},
      {"muon.weight_decay_method", words(kWeightDecayMethodNames),
       [](C& c) -> Field { return word_field(c.muon.weight_decay_method, kWeightDecayMethodNames); }},
      {"muon.coefficient_type", coefficient_types(), [](C& c) -> Field { return &c.muon.coefficient_type; }},
      {"muon.custom_coefficients", OwnRule{"array", "an array of [a, b, c] triples of finite numbers"},
       own<C>, Presence::kOptional, "[]"},
      {"muon.num_ns_steps", integer(1, 100), [](C& c) -> Field { return &c.muon.num_ns_steps; }},
      {"muon.scale_mode", words(kScaleModeNames),
       [](C& c) -> Field { return word_field(c.muon.scale_mode, kScaleModeNames); }},
      {"muon.extra_scale_factor", non_negative(), [](C& c) -> Field { return &c.muon.extra_scale_factor; }},
      {"muon.fp32_matmul_prec", words(kMatmulPrecisionNames),
       [](C& c) -> Field { return word_field(c.muon.fp32_matmul_prec, kMatmulPrecisionNames); }},
      {"muon.ns_algorithm", words(kNsAlgorithmNames),
       [](C& c) -> Field { return word_field(c.muon.ns_algorithm, kNsAlgorithmNames); }},
      {"muon.ns_batch_size", integer(1, 1U << 20U), [](C& c) -> Field { return &c.muon.ns_batch_size; }},
      {"muon.split_qkv", FlagRule{}, [](C& c) -> Field { return &c.muon.split_qkv; }},
      {"muon.home_policy", words(kHomePolicyNames),
       [](C& c) -> Field { return word_field(c.muon.home_policy, kHomePolicyNames); }},
      {"muon.homes", OwnRule{"object", "an object of \"name\": [g, t], two integers in 0..1048575"}, own<C>,
       Presence::kOptional, "{}"},
      {"muon.exchange", words(kExchangeWayNames),
       [](C& c) -> Field { return word_field(c.muon.exchange, kExchangeWayNames); }},
      {"muon.return_dtype", words(kDTypeNames),
       [](C& c) -> Field { return word_field(c.muon.return_dtype, kDTypeNames); }},
      {"muon.exchange_chunks", integer(1, 1024), [](C& c) -> Field { return &c.muon.exchange_chunks; }},
      {"muon.gtp_only_homes", words(kGtpOnlyHomesNames),
       [](C& c) -> Field { return word_field(c.muon.gtp_only_homes, kGtpOnlyHomesNames); }},
      {"muon.split_oversized", FlagRule{}, [](C& c) -> Field { return &c.muon.split_oversized; }},
      {"muon.concurrent_groups", FlagRule{}, [](C& c) -> Field { return &c.muon.concurrent_groups; }},
      {"muon.groups", OwnRule{"object", "an object of \"label\": {lr, weight_decay}"}, own<C>,
       Presence::kOptional, "{}"},
  };
}

std::vector<KeyRow<C>> adam_and_gradient_keys() {
  return {
      {"adam.lr", non_negative(), [](C& c) -> Field { return &c.adam.lr; }},
      {"adam.beta1", fraction(), [](C& c) -> Field { return &c.adam.beta1; }},
      {"adam.beta2", fraction(), [](C& c) -> Field { return &c.adam.beta2; }},
      {"adam.eps", NumberRule{kFp32Tiny, kFp32Max}, [](C& c) -> Field { return &c.adam.eps; }},
      {"adam.weight_decay", non_negative(), [](C& c) -> Field { return &c.adam.weight_decay; }},
      {"adam.decoupled_weight_decay", FlagRule{},
       [](C& c) -> Field { return &c.adam.decoupled_weight_decay; }},
      {"adam.moment_dtype", words(kDTypeNames),
       [](C& c) -> Field { return word_field(c.adam.moment_dtype, kDTypeNames); }},
      {"layer_wise.policy", words(kOwnerPolicyNames),
       [](C& c) -> Field { return word_field(c.layer_wise.policy, kOwnerPolicyNames); }},
      {"layer_wise.adam", words(kLayerWiseAdamNames),
       [](C& c) -> Field { return word_field(c.layer_wise.adam, kLayerWiseAdamNames); }},
      {"gradients.fill", words(kGlobalFillNames),
       [](C& c) -> Field { return word_field(c.gradients.fill, kGlobalFillNames); }},
      {"gradients.seed", integer(0, std::numeric_limits<std::uint64_t>::max()),
       [](C& c) -> Field { return &c.gradients.seed; }},
      {"gradients.scale", any_number(), [](C& c) -> Field { return &c.gradients.scale; }},
      {"gradients.inject", OwnRule{"array", "an array of {param, step, row, column, value}"}, own<C>,
       Presence::kOptional, "[]"},
  };
}

std::vector<KeyRow<C>> run_section_keys() {
  return {
      {"run.backend", words(kBackendNames),
       [](C& c) -> Field { return word_field(c.run.backend, kBackendNames); }},
      {"run.transport", words(kTransportNames),
       [](C& c) -> Field { return word_field(c.run.transport, kTransportNames); }, Presence::kOptional,
       "mpi on cpu, nccl on cuda"},
      {"run.param_dtype", words(kDTypeNames),
       [](C& c) -> Field { return word_field(c.run.param_dtype, kDTypeNames); }},
      {"run.warmup_steps", integer(0, kMostSteps), [](C& c) -> Field { return &c.run.warmup_steps; }},
      {"run.steps", integer(1, kMostSteps), [](C& c) -> Field { return &c.run.steps; }},
      {"run.timing", words(kTimingNames),
       [](C& c) -> Field { return word_field(c.run.timing, kTimingNames); }},
      {"run.verify", FlagRule{}, [](C& c) -> Field { return &c.run.verify; }},
      {"run.timeout_seconds", NumberRule{0, 1e9, Interval::kOpenBelow, Precision::kDouble},
       [](C& c) -> Field { return &c.run.timeout_seconds; }},
      {"require", OwnRule{"object", "an object of \"MODE.field\": {min, max}"}, own<C>, Presence::kOptional,
       "{}"},
  };
}

}  // namespace

const std::vector<KeyRow<RunConfig>>& run_keys() {
  static const std::vector<KeyRow<RunConfig>> rows = [] {
    std::vector<KeyRow<RunConfig>> all = model_keys();
    for (const auto& section : {muon_keys(), adam_and_gradient_keys(), run_section_keys()})
      all.insert(all.end(), section.begin(), section.end());
    return all;
  }();
  return rows;
}

const std::vector<KeyRow<InjectConfig>>& inject_keys() {
  using I = InjectConfig;
  static const std::vector<KeyRow<I>> rows = {
      {"param", TextRule{}, [](I& i) -> Field { return &i.param; }, Presence::kRequired},
      {"step", integer(0, 2 * kMostSteps), [](I& i) -> Field { return &i.step; }},
      {"row", integer(0, kInt64Max), [](I& i) -> Field { return &i.row; }},
      {"column", integer(0, kInt64Max), [](I& i) -> Field { return &i.column; }},
      {"value", WordRule{{"nan", "inf", "-inf"}, {}}, [](I& i) -> Field { return &i.value; },
       Presence::kRequired},
  };
  return rows;
}

const std::vector<KeyRow<GroupConfig>>& group_keys() {
  using G = GroupConfig;
  static const std::vector<KeyRow<G>> rows = {
      {"lr", non_negative(), [](G& g) -> Field { return &g.lr; }, Presence::kOptional, "muon.lr"},
      {"weight_decay", non_negative(), [](G& g) -> Field { return &g.weight_decay; }, Presence::kOptional,
       "muon.weight_decay"},
  };
  return rows;
}

const std::vector<KeyRow<Bounds>>& bounds_keys() {
  static const std::vector<KeyRow<Bounds>> rows = {
      {"min", any_double(), own<Bounds>, Presence::kOptional, "-"},
      {"max", any_double(), own<Bounds>, Presence::kOptional, "-"},
  };
  return rows;
}

}  // namespace muonbench
