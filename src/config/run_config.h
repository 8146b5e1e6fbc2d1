// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/dtype.h"
#include "src/config/optimizer_config.h"
#include "src/config/words.h"

/// The configuration as plain values: a member per key, its default beside it. Read and checked by
/// read_config.h; resolved against a model, a world size or a device only where a comment says so.
namespace muonbench {

/// model.transformer.moe
struct MoeConfig {
  std::int64_t experts = 0, expert_ffn_hidden = 0, shared_experts = 0, first_dense_layers = 0;
};

/// model.transformer.mla
struct MlaConfig {
  std::int64_t q_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, v_dim = 0;
};

/// model.transformer
struct TransformerConfig {
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn_hidden = 0, vocab = 0;
  bool tied_embeddings = false, fused_qkv = false, fused_gate_up = false;
  std::optional<MoeConfig> moe;
  std::optional<MlaConfig> mla;
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
  // Set by known architectures; no key.
  std::optional<int> layer;  ///< -1: before the first layer; the number of layers: after the last
  std::string expert_set;    ///< empty: the model's experts of equal shape
};

/// Exactly one source is set.
struct ModelConfig {
  std::optional<std::string> preset;
  std::optional<std::int64_t> layers;  ///< of the preset; none: all
  std::optional<TransformerConfig> transformer;
  std::optional<std::string> safetensors;  ///< a path as written
  std::string checkpoint;  ///< no key: what checkpoint_tensors() found at `safetensors`; empty: not read yet
  std::optional<std::vector<ParamConfig>> params;
};

struct ParallelismConfig {
  int tp = 1, gtp_remat = 1, dp = 1, pp = 1, ep = 1, expert_tp = 1, expert_gtp_remat = 1;
  std::int64_t pad_for_alignment = 16;
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

/// One entry of `require`: at least one of the two.
struct Bounds {
  std::optional<double> min, max;
};

struct RunConfig {
  int schema_version = 1;
  std::string name;
  ModelConfig model;
  ParallelismConfig parallelism;
  std::vector<std::string> modes = {"layer_sharded", "duplicated", "adam_dim0"};
  MuonConfig muon;
  AdamConfig adam;
  LayerWiseConfig layer_wise;
  GradientsConfig gradients;
  RunSettings run;
  std::map<std::string, Bounds> require;  ///< by "MODE.field"
  [[nodiscard]] bool runs(std::string_view mode) const {
    return std::find(modes.begin(), modes.end(), mode) != modes.end();
  }
  std::string resolved_json;  ///< every key with its value, defaults filled in: what goes into a result
};

}  // namespace muonbench
