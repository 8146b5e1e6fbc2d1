// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/transformer.h"

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

ParamConfig matrix(const std::string& name, std::int64_t out, std::int64_t in, int tp_dim) {
  ParamConfig param;
  param.name = name;
  param.shape = {out, in};
  param.tp_dim = tp_dim;
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

void append_attention(std::vector<ParamConfig>& params, const std::string& block,
                      const TransformerConfig& dims) {
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
}

void append_mlp(std::vector<ParamConfig>& params, const std::string& block, const TransformerConfig& dims) {
  if (dims.fused_gate_up) {
    const std::int64_t rows = product("2 * ffn_hidden", 2, dims.ffn_hidden);
    params.push_back(matrix(block + ".mlp.gate_up", rows, dims.hidden, 0));
  } else {
    params.push_back(matrix(block + ".mlp.gate", dims.ffn_hidden, dims.hidden, 0));
    params.push_back(matrix(block + ".mlp.up", dims.ffn_hidden, dims.hidden, 0));
  }
  params.push_back(matrix(block + ".mlp.down", dims.hidden, dims.ffn_hidden, 1));
}

}  // namespace

std::vector<ParamConfig> transformer_params(const TransformerConfig& dims) {
  std::vector<ParamConfig> params;
  params.push_back(adam_matrix("embedding", dims.vocab, dims.hidden));
  const std::int64_t two_norms = product("2 * hidden", 2, dims.hidden);
  for (std::int64_t layer = 0; layer < dims.layers; ++layer) {
    const std::string block = text("layers.{}", layer);
    append_attention(params, block, dims);
    append_mlp(params, block, dims);
    params.push_back(vector(block + ".norms", two_norms));
  }
  params.push_back(vector("final_norm", dims.hidden));
  if (!dims.tied_embeddings) params.push_back(adam_matrix("output", dims.vocab, dims.hidden));
  return params;
}

}  // namespace muonbench
