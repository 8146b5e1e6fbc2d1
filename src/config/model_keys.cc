// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/common_rules.h"
#include "src/config/key_table.h"

namespace muonbench {

const std::vector<KeyRow<TransformerConfig>>& transformer_keys() {
  using T = TransformerConfig;
  static const std::vector<KeyRow<T>> rows = {
      {"hidden", size(), [](T& t) -> Field { return &t.hidden; }, Presence::kRequired},
      {"layers", integer(1, 100'000), [](T& t) -> Field { return &t.layers; }, Presence::kRequired},
      {"heads", size(), [](T& t) -> Field { return &t.heads; }, Presence::kRequired},
      {"kv_heads", size(), [](T& t) -> Field { return &t.kv_heads; }, Presence::kOptional, "heads"},
      {"head_dim", size(), [](T& t) -> Field { return &t.head_dim; }, Presence::kOptional, "hidden / heads"},
      {"ffn_hidden", size(), [](T& t) -> Field { return &t.ffn_hidden; }, Presence::kRequired},
      {"vocab", size(), [](T& t) -> Field { return &t.vocab; }, Presence::kRequired},
      {"tied_embeddings", FlagRule{}, [](T& t) -> Field { return &t.tied_embeddings; }},
      {"fused_qkv", FlagRule{}, [](T& t) -> Field { return &t.fused_qkv; }},
      {"fused_gate_up", FlagRule{}, [](T& t) -> Field { return &t.fused_gate_up; }},
      {"moe", OwnRule{"object", "an object"}, own<T>, Presence::kOptional, "-"},
      {"mla", OwnRule{"object", "an object"}, own<T>, Presence::kOptional, "-"},
  };
  return rows;
}

const std::vector<KeyRow<MoeConfig>>& moe_keys() {
  using M = MoeConfig;
  static const std::vector<KeyRow<M>> rows = {
      {"experts", integer(1, 1'000'000), [](M& m) -> Field { return &m.experts; }, Presence::kRequired},
      {"expert_ffn_hidden", size(), [](M& m) -> Field { return &m.expert_ffn_hidden; }, Presence::kRequired},
      {"shared_experts", integer(0, 1'000'000), [](M& m) -> Field { return &m.shared_experts; }},
      {"first_dense_layers", integer(0, 100'000), [](M& m) -> Field { return &m.first_dense_layers; }},
  };
  return rows;
}

const std::vector<KeyRow<MlaConfig>>& mla_keys() {
  using M = MlaConfig;
  static const std::vector<KeyRow<M>> rows = {
      {"q_rank", OwnRule{"int or null", "an integer in 0..9223372036854775807 or null"}, own<M>,
       Presence::kOptional, "null"},
      {"kv_rank", size(), [](M& m) -> Field { return &m.kv_rank; }, Presence::kRequired},
      {"nope_dim", size(), [](M& m) -> Field { return &m.nope_dim; }, Presence::kRequired},
      {"rope_dim", integer(0, kInt64Max), [](M& m) -> Field { return &m.rope_dim; }, Presence::kRequired},
      {"v_dim", size(), [](M& m) -> Field { return &m.v_dim; }, Presence::kRequired},
  };
  return rows;
}

const std::vector<KeyRow<ParamConfig>>& param_keys() {
  using P = ParamConfig;
  static const std::vector<KeyRow<P>> rows = {
      {"name", TextRule{}, [](P& p) -> Field { return &p.name; }, Presence::kRequired},
      {"shape", OwnRule{"array", "one or two integers in 1..9223372036854775807"}, own<P>,
       Presence::kRequired},
      {"optimizer", WordRule{{"muon", "adam"}, {}}, [](P& p) -> Field { return &p.optimizer; }},
      {"tp_dim", OwnRule{"int or null", "0, 1 or null"}, own<P>, Presence::kOptional, "null"},
      {"gtp_remat", FlagRule{}, [](P& p) -> Field { return &p.gtp_remat; }},
      {"expert", FlagRule{}, [](P& p) -> Field { return &p.expert; }},
      {"stage", integer(0, kMostRanks - 1), [](P& p) -> Field { return &p.stage; }},
      {"group", OwnRule{"string or null", "dense, expert, a key of muon.groups or null"}, own<P>,
       Presence::kOptional, "null"},
      {"repeat", integer(1, 1'000'000), [](P& p) -> Field { return &p.repeat; }},
      {"gradient", WordRule{{"random", "ones", "zeros", "none"}, {}},
       [](P& p) -> Field { return &p.gradient; }, Presence::kOptional, "as gradients.fill"},
      {"gradient_scale", any_number(), [](P& p) -> Field { return &p.gradient_scale; }},
      {"qkv_split",
       OwnRule{"array", "three or four positive integers whose sum divides dim 0 of a 2-D shape"}, own<P>,
       Presence::kOptional, "[]"},
  };
  return rows;
}

}  // namespace muonbench
