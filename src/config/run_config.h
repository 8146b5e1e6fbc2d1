// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/optimizer_rules.h"
#include "src/config/words.h"
#include "src/ns/ns_options.h"

/// The configuration as plain values: a member per key, its default beside it. Read and checked by
/// read_config.h; nothing here has been resolved against a model, a world size or a device, except where a
/// comment says so.
namespace muonbench {

/// model.transformer
struct TransformerConfig {
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn_hidden = 0, vocab = 0;
  bool tied_embeddings = false, fused_qkv = false, fused_gate_up = false;
};

/// One entry of model.params, as written.
struct ParamConfig {
  std::string name;
  std::vector<std::int64_t> shape;  ///< one or two entries, each >= 1
  std::string optimizer = "muon";
  std::optional<int> tp_dim;
  bool gtp_remat = true;
  bool expert = false;
  std::int64_t repeat = 1;
  int stage = 0;
  std::optional<std::string> group;
  std::string gradient;  ///< random, ones, zeros, none; empty: as gradients.fill
  double gradient_scale = 1.0;
  std::vector<std::int64_t> qkv_split;
};

/// Exactly one source is set.
struct ModelConfig {
  std::optional<TransformerConfig> transformer;
  std::optional<std::vector<ParamConfig>> params;
};

struct ParallelismConfig {
  int tp = 1, gtp_remat = 1, dp = 1, pp = 1, ep = 1, expert_tp = 1, expert_gtp_remat = 1;
  std::int64_t pad_for_alignment = 16;
};

struct MuonConfig {
  double lr = 3e-4, momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.01;
  WeightDecayMethod weight_decay_method = WeightDecayMethod::kDecoupled;
  std::string coefficient_type = "quintic";
  std::vector<NsCoefficients> custom_coefficients;
  int num_ns_steps = 5;
  ScaleMode scale_mode = ScaleMode::kSpectral;
  double extra_scale_factor = 1.0;
  MatmulPrecision fp32_matmul_prec = MatmulPrecision::kMedium;
  NsAlgorithm ns_algorithm = NsAlgorithm::kGemm;
  int ns_batch_size = 1;
  HomePolicy home_policy = HomePolicy::kLptNsCost;
  std::map<std::string, std::pair<int, int>> homes;
  bool concurrent_groups = true;
};

struct AdamConfig {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  bool decoupled_weight_decay = true;
};

/// gradients.inject, one entry, as written.
struct InjectConfig {
  std::string param;
  std::int64_t step = 0, row = 0, column = 0;
  std::string value;  ///< nan, inf, -inf
};

struct GradientsConfig {
  GlobalFill fill = GlobalFill::kRandom;
  std::uint64_t seed = 1234;
  double scale = 1.0;
  std::vector<InjectConfig> inject;
};

struct RunSettings {
  Backend backend = Backend::kCpu;
  Transport transport = Transport::kMpi;
  DType param_dtype = DType::kBf16;
  int warmup_steps = 2, steps = 10;
  Timing timing = Timing::kStep;
  bool verify = true;
  double timeout_seconds = 600;
};

struct RunConfig {
  int schema_version = 1;
  std::string name;
  ModelConfig model;
  ParallelismConfig parallelism;
  std::vector<std::string> modes = {"layer_sharded", "duplicated", "adam_dim0"};
  MuonConfig muon;
  AdamConfig adam;
  GradientsConfig gradients;
  RunSettings run;
  std::string resolved_json;  ///< every key with its value, defaults filled in: what goes into a result
};

}  // namespace muonbench
