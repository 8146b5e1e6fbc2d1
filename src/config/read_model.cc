// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/config/common_rules.h"
#include "src/config/key_table.h"
#include "src/config/overrides.h"
#include "src/config/read_parts.h"

namespace muonbench {
namespace {

bool is_list(const Key& key) { return key.is(JsonNode::Kind::kList); }

std::int64_t read_size(const Key& key) { return static_cast<std::int64_t>(key.integer({1, kInt64Max})); }

MoeConfig read_moe(const Key& key, std::int64_t layers) {
  const MoeConfig moe = read_rows(moe_keys(), key);
  if (moe.first_dense_layers > layers)
    (key / "first_dense_layers").reject(text("at most model.transformer.layers ({})", layers));
  return moe;
}

MlaConfig read_mla(const Key& key) {
  MlaConfig mla = read_rows(mla_keys(), key);
  const Key rank = key / "q_rank";
  if (!rank.present() || rank.is(JsonNode::Kind::kNull)) return mla;
  const std::optional<std::uint64_t> value = rank.whole();
  if (!value || *value > kInt64Max) rank.reject(expected_at_path(rank.path()));
  mla.q_rank = static_cast<std::int64_t>(*value);
  return mla;
}

/// Latent attention has sizes of its own; those of plain attention may only repeat what follows from them.
TransformerConfig with_latent_attention(TransformerConfig dims, const Key& key) {
  const MlaConfig mla = read_mla(key / "mla");
  dims.mla = mla;
  if (dims.fused_qkv) (key / "fused_qkv").reject("false, as model.transformer.mla has no q, k and v to fuse");
  if (dims.kv_heads != 0 && dims.kv_heads != dims.heads)
    (key / "kv_heads").reject(text("heads ({}), as model.transformer.mla is set", dims.heads));
  dims.kv_heads = dims.heads;
  std::int64_t head_dim = 0;
  if (__builtin_add_overflow(mla.nope_dim, mla.rope_dim, &head_dim))
    (key / "mla").reject("a sum of nope_dim and rope_dim that fits a signed 64-bit number");
  if (dims.head_dim != 0 && dims.head_dim != head_dim)
    (key / "head_dim").reject(text("mla.nope_dim + mla.rope_dim ({})", head_dim));
  dims.head_dim = head_dim;
  return dims;
}

TransformerConfig read_transformer(const Key& key) {
  TransformerConfig dims = read_rows(transformer_keys(), key);
  MUONBENCH_CHECK(dims.heads > 0, "a required key left out");
  if ((key / "moe").present()) dims.moe = read_moe(key / "moe", dims.layers);
  if ((key / "mla").present()) return with_latent_attention(dims, key);
  if (dims.kv_heads == 0) dims.kv_heads = dims.heads;
  if (dims.heads % dims.kv_heads != 0)
    (key / "kv_heads").reject(text("a divisor of model.transformer.heads ({})", dims.heads));
  if (dims.head_dim == 0) {
    if (dims.hidden % dims.heads != 0)
      (key / "head_dim")
          .reject(text("a value, as heads ({}) does not divide hidden ({})", dims.heads, dims.hidden));
    dims.head_dim = dims.hidden / dims.heads;
  }
  return dims;
}

std::vector<std::int64_t> read_shape(const Key& key) {
  if (!is_list(key) || key.size() < 1 || key.size() > 2) key.reject(expected_at_path("model.params[].shape"));
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < key.size(); ++i) shape.push_back(read_size(key[i]));
  return shape;
}

std::optional<int> read_tp_dim(const Key& key) {
  if (!key.present() || key.is(JsonNode::Kind::kNull)) return std::nullopt;
  const std::optional<std::uint64_t> dim = key.whole();
  if (!dim || *dim > 1) key.reject(expected_at_path("model.params[].tp_dim"));
  return static_cast<int>(*dim);
}

std::optional<std::string> read_group(const Key& key) {
  if (!key.present() || key.is(JsonNode::Kind::kNull)) return std::nullopt;
  if (!key.is(JsonNode::Kind::kText)) key.reject(expected_at_path(key.path()));
  return key.text_value();
}

std::vector<std::int64_t> read_qkv_split(const Key& key, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> pieces;
  if (!key.present()) return pieces;
  const bool right_size = is_list(key) && (key.size() == 0 || key.size() == 3 || key.size() == 4);
  if (!right_size) key.reject(expected_at_path("model.params[].qkv_split"));
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    pieces.push_back(read_size(key[i]));
    if (shape.size() != 2 || pieces.back() > shape[0] - sum)
      key.reject(text("positive integers whose sum divides dim 0 of a 2-D shape ({})", shape[0]));
    sum += pieces.back();
  }
  if (sum > 0 && shape[0] % sum != 0)
    key.reject(text("positive integers whose sum ({}) divides dim 0 ({})", sum, shape[0]));
  return pieces;
}

std::vector<ParamConfig> read_params(const Key& key, GlobalFill fill) {
  if (!is_list(key) || key.size() == 0) key.reject(expected_at_path("model.params"));
  std::vector<ParamConfig> params;
  for (std::size_t i = 0; i < key.size(); ++i) {
    ParamConfig param = read_rows(param_keys(), key[i]);
    param.shape = read_shape(key[i] / "shape");
    param.tp_dim = read_tp_dim(key[i] / "tp_dim");
    param.group = read_group(key[i] / "group");
    param.qkv_split = read_qkv_split(key[i] / "qkv_split", param.shape);
    if (param.gradient.empty()) param.gradient = name_in(kGlobalFillNames, fill);
    params.push_back(std::move(param));
  }
  return params;
}

}  // namespace

ModelConfig read_model(const Key& top, GlobalFill fill) {
  const Key key = top / "model";
  const std::vector<std::string> sources = {"preset", "transformer", "safetensors", "params"};
  std::vector<std::string> given;
  for (const std::string& source : sources)
    if ((key / source).present()) given.push_back(source);
  if (given.size() != 1)
    key.reject(text("exactly one of {}", join(sources)),
               given.empty() ? "none of them" : join(given, " and "));
  ModelConfig model;
  if ((key / "preset").present()) model.preset = (key / "preset").text_value();
  if ((key / "safetensors").present()) model.safetensors = (key / "safetensors").text_value();
  if ((key / "layers").present()) {
    if (!model.preset) (key / "layers").reject("this key to be absent, as it cuts a model.preset alone");
    constexpr IntegerRule kLayers = {1, 100'000};
    model.layers = static_cast<std::int64_t>((key / "layers").integer(kLayers));
  }
  if ((key / "transformer").present()) model.transformer = read_transformer(key / "transformer");
  if ((key / "params").present()) model.params = read_params(key / "params", fill);
  return model;
}

}  // namespace muonbench
