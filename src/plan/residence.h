// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <vector>

#include "src/model/parameter.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Which ranks hold a parameter at all: those of one pipeline stage and, for a routed expert, of one ep
/// index.
struct Residence {
  int stage = 0;
  int ep = 0;
  friend auto operator<=>(const Residence&, const Residence&) = default;
};

/// Layers go to stages in contiguous blocks, the first (layers mod pp) stages one layer more.
[[nodiscard]] int stage_of_layer(int layer, int layers, int pp);

/// One entry per parameter. Experts of one set are dealt to the ep indices in contiguous equal blocks.
/// Throws ConfigError: a stage beyond pp, an expert set whose count ep does not divide.
[[nodiscard]] std::vector<Residence> place_params(const ParamSet& params, const GridShape& shape);

/// True if a rank at these coordinates, of the grid of the parameter's family, holds the parameter.
[[nodiscard]] bool is_held(const Parameter& param, const Residence& residence, const Coordinates& at);
[[nodiscard]] bool is_held(const Parameter& param, const Residence& residence, const RankGrid& grid,
                           WorldRank rank);

}  // namespace muonbench
