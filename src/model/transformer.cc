// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/transformer.h"

#include <utility>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

std::int64_t product(const std::string& what, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    throw ConfigError(
        text("model.transformer: expected {} to fit a signed 64-bit number, got {} * {}", what, a, b));
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    throw ConfigError(text("model.transformer: expected {} + {} to fit a signed 64-bit number", a, b));
  return result;
}

ParamConfig matrix(const std::string& name, std::int64_t out, std::int64_t in, int tp_dim) {
  ParamConfig param;
  param.name = name;
  param.shape = {out, in};
  param.tp_dim = tp_dim;
  return param;
}

/// Rows of the TP-local matrix are split, nothing else is.
ParamConfig latent(const std::string& name, std::int64_t out, std::int64_t in) {
  ParamConfig param = matrix(name, out, in, 0);
  param.tp_dim.reset();
  return param;
}

ParamConfig adam_matrix(const std::string& name, std::int64_t out, std::int64_t in) {
  ParamConfig param = matrix(name, out, in, 0);
  param.optimizer = "adam";
  return param;
}

/// Every rank of a domain holds all of it.
ParamConfig vector(const std::string& name, std::int64_t elements) {
  ParamConfig param;
  param.name = name;
  param.shape = {elements};
  param.optimizer = "adam";
  param.gtp_remat = false;
  return param;
}

/// Rows of the projections of one block.
struct AttentionRows {
  std::int64_t q, kv, q_group, qkv;
};

AttentionRows attention_rows(const TransformerConfig& dims) {
  AttentionRows rows{};
  rows.q = product("heads * head_dim", dims.heads, dims.head_dim);
  rows.kv = product("kv_heads * head_dim", dims.kv_heads, dims.head_dim);
  rows.q_group = rows.q / dims.kv_heads;
  if (__builtin_add_overflow(rows.q, product("2 * kv_heads * head_dim", 2, rows.kv), &rows.qkv))
    throw ConfigError(
        text("model.transformer: expected (heads + 2 * kv_heads) * head_dim to fit a signed 64-bit "
             "number, got {} + 2 * {}",
             rows.q, rows.kv));
  return rows;
}

void append(std::vector<ParamConfig>& params, std::vector<ParamConfig> more) {
  for (ParamConfig& param : more) params.push_back(std::move(param));
}

std::vector<ParamConfig> latent_attention(const std::string& block, const TransformerConfig& dims) {
  const MlaConfig& mla = *dims.mla;
  const auto name = [&](const char* which) { return text("{}.attention.{}", block, which); };
  const std::int64_t q =
      product("heads * (nope_dim + rope_dim)", dims.heads, sum(mla.nope_dim, mla.rope_dim));
  const std::int64_t kv = product("heads * (nope_dim + v_dim)", dims.heads, sum(mla.nope_dim, mla.v_dim));
  std::vector<ParamConfig> params;
  if (mla.q_rank > 0) {
    params.push_back(latent(name("q_a"), mla.q_rank, dims.hidden));
    params.push_back(matrix(name("q_b"), q, mla.q_rank, 0));
  } else {
    params.push_back(matrix(name("q"), q, dims.hidden, 0));
  }
  params.push_back(latent(name("kv_a"), sum(mla.kv_rank, mla.rope_dim), dims.hidden));
  params.push_back(matrix(name("kv_b"), kv, mla.kv_rank, 0));
  params.push_back(matrix(name("o"), dims.hidden, product("heads * v_dim", dims.heads, mla.v_dim), 1));
  return params;
}

std::vector<ParamConfig> attention(const std::string& block, const TransformerConfig& dims) {
  if (dims.mla) return latent_attention(block, dims);
  std::vector<ParamConfig> params;
  const AttentionRows rows = attention_rows(dims);
  if (dims.fused_qkv) {
    params.push_back(matrix(block + ".attention.qkv", rows.qkv, dims.hidden, 0));
    params.back().qkv_split = {rows.q_group, dims.head_dim, dims.head_dim};
  } else {
    params.push_back(matrix(block + ".attention.q", rows.q, dims.hidden, 0));
    params.push_back(matrix(block + ".attention.k", rows.kv, dims.hidden, 0));
    params.push_back(matrix(block + ".attention.v", rows.kv, dims.hidden, 0));
  }
  params.push_back(matrix(block + ".attention.o", dims.hidden, rows.q, 1));
  return params;
}

/// `name` heads the names: of the dense MLP, of a shared or of a routed expert.
std::vector<ParamConfig> mlp(const std::string& name, const TransformerConfig& dims,
                             std::int64_t ffn_hidden) {
  std::vector<ParamConfig> params;
  if (dims.fused_gate_up) {
    params.push_back(matrix(name + ".gate_up", product("2 * ffn_hidden", 2, ffn_hidden), dims.hidden, 0));
  } else {
    params.push_back(matrix(name + ".gate", ffn_hidden, dims.hidden, 0));
    params.push_back(matrix(name + ".up", ffn_hidden, dims.hidden, 0));
  }
  params.push_back(matrix(name + ".down", dims.hidden, ffn_hidden, 1));
  return params;
}

std::vector<ParamConfig> experts(const std::string& block, const TransformerConfig& dims) {
  const MoeConfig& moe = *dims.moe;
  std::vector<ParamConfig> params = {latent(block + ".moe.router", moe.experts, dims.hidden)};
  params.back().gtp_remat = false;
  if (moe.shared_experts > 0)
    append(params,
           mlp(block + ".moe.shared", dims,
               product("shared_experts * expert_ffn_hidden", moe.shared_experts, moe.expert_ffn_hidden)));
  for (ParamConfig& param : mlp(block + ".moe.expert", dims, moe.expert_ffn_hidden)) {
    param.expert = true;
    param.expert_set = param.name;
    param.repeat = moe.experts;
    params.push_back(std::move(param));
  }
  return params;
}

std::vector<ParamConfig> block_params(std::int64_t layer, const TransformerConfig& dims) {
  const std::string block = text("layers.{}", layer);
  const bool dense = !dims.moe || layer < dims.moe->first_dense_layers;
  std::vector<ParamConfig> params = attention(block, dims);
  append(params, dense ? mlp(block + ".mlp", dims, dims.ffn_hidden) : experts(block, dims));
  std::int64_t norms = product("2 * hidden", 2, dims.hidden);
  if (dims.mla) norms = sum(norms, sum(dims.mla->q_rank, dims.mla->kv_rank));
  params.push_back(vector(block + ".norms", norms));
  return params;
}

}  // namespace

std::vector<ParamConfig> transformer_params(const TransformerConfig& dims) {
  std::vector<ParamConfig> params;
  params.push_back(adam_matrix("embedding", dims.vocab, dims.hidden));
  params.back().layer = -1;
  for (std::int64_t layer = 0; layer < dims.layers; ++layer) {
    for (ParamConfig& param : block_params(layer, dims)) {
      param.layer = static_cast<int>(layer);
      params.push_back(std::move(param));
    }
  }
  std::vector<ParamConfig> after = {vector("final_norm", dims.hidden)};
  if (!dims.tied_embeddings) after.push_back(adam_matrix("output", dims.vocab, dims.hidden));
  for (ParamConfig& param : after) param.layer = static_cast<int>(dims.layers);
  append(params, std::move(after));
  return params;
}

}  // namespace muonbench
