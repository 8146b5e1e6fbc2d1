// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/config/run_config.h"
#include "src/model/parameter.h"
#include "src/model/values.h"

namespace muonbench {

/// The model's ordered parameter list. Throws ConfigError naming the key: a name twice (both positions), Muon
/// on a 1-D parameter, tp_dim 1 on a 1-D parameter, elements or bytes beyond a signed 64-bit number, a preset
/// or a checkpoint that is none.
///
/// A transformer of `layers` blocks, in order, out x in:
///   embedding                        (vocab, hidden)             adam, tp_dim 0
///   layers.L.attention.q             (heads*head_dim, hidden)    muon, tp_dim 0
///   layers.L.attention.k, .v         (kv_heads*head_dim, hidden) muon, tp_dim 0
///                                    with fused_qkv one .qkv in place of q, k, v, with qkv_split
///   layers.L.attention.o             (hidden, heads*head_dim)    muon, tp_dim 1
///   layers.L.mlp.gate, .up           (ffn_hidden, hidden)        muon, tp_dim 0, or one .gate_up
///   layers.L.mlp.down                (hidden, ffn_hidden)        muon, tp_dim 1
///   layers.L.norms                   (2*hidden) 1-D              adam, replicated
///   final_norm                       (hidden) 1-D                adam, replicated
///   output                           (vocab, hidden)             adam, tp_dim 0, absent if tied_embeddings
/// With mla, norms hold q_rank + kv_rank elements more, and in place of q, k and v stand
///   layers.L.attention.q_a           (q_rank, hidden)            muon, not over TP
///   layers.L.attention.q_b           (heads*(nope+rope), q_rank) muon, tp_dim 0
///                                    without q_rank one .q (heads*(nope+rope), hidden)
///   layers.L.attention.kv_a          (kv_rank+rope, hidden)      muon, not over TP
///   layers.L.attention.kv_b          (heads*(nope+v), kv_rank)   muon, tp_dim 0
///   layers.L.attention.o             (hidden, heads*v)           muon, tp_dim 1
/// With moe, in place of the MLP behind the first dense layers stand
///   layers.L.moe.router              (experts, hidden)           muon, replicated
///   layers.L.moe.shared.gate, ...    as mlp, of shared_experts*expert_ffn_hidden
///   layers.L.moe.expert.gate.E, ...  as mlp, of expert_ffn_hidden: experts, one set per layer and matrix
/// All 2-D weights but routers are gtp_remat-tagged.
[[nodiscard]] ParamSet build_params(const ModelConfig& model, const GradientsConfig& gradients);

/// gradients.inject against the model: unknown parameter (nearest name), row or column outside its shape.
[[nodiscard]] std::vector<GradientInjection> resolve_injections(const GradientsConfig& gradients,
                                                                const ParamSet& params);

}  // namespace muonbench
