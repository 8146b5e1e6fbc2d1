// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/shape.h"

namespace muonbench {

enum class OptimizerKind { kMuon, kAdam };
enum class GradientFill { kRandom, kOnes, kZeros, kNone };

/// One weight of the model: what the forward and backward pass impose, nothing that an optimizer decides.
struct Parameter {
  std::string name;
  Shape shape;   ///< full logical shape; a 1-D parameter of n elements is (n, 1)
  int dims = 2;  ///< 1 or 2
  OptimizerKind optimizer = OptimizerKind::kMuon;
  std::optional<int> tp_dim;  ///< axis that TP splits, 0 or 1; none: replicated over TP
  bool gtp_remat = true;      ///< dim 0 of the TP-local shard is split over GTP_remat
  bool expert = false;        ///< a routed expert's weight: lives on the expert grid
  std::string group;          ///< param group label: "dense", "expert" or a key of muon.groups
  std::optional<int>
      layer;      ///< of a known architecture: -1 before the first layer, ParamSet::layers after the last
  int stage = 0;  ///< pipeline stage that holds it, where no layer says so
  std::string expert_set;  ///< experts of one set are dealt to the ep ranks in equal blocks, in list order
  GradientFill gradient = GradientFill::kRandom;
  double gradient_scale = 1.0;
  std::vector<std::int64_t> qkv_split;  ///< rows of one query group's pieces; empty: not a fused QKV weight
  std::uint64_t value_key = 0;          ///< identity of the parameter in values.h; a function of its name

  [[nodiscard]] bool has_gradient() const { return gradient != GradientFill::kNone; }
};

/// The model: parameters in one order that all ranks share. Names are unique.
struct ParamSet {
  std::vector<Parameter> params;
  int layers = 0;  ///< of a known architecture

  [[nodiscard]] int size() const { return static_cast<int>(params.size()); }
  [[nodiscard]] const Parameter& operator[](ParamIndex i) const { return params[i.at()]; }
  [[nodiscard]] std::optional<ParamIndex> find(const std::string& name) const;
  [[nodiscard]] Elements elements() const;  ///< true elements, no pads
  [[nodiscard]] Elements elements(OptimizerKind kind) const;
};

}  // namespace muonbench
