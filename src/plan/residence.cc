// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/residence.h"

#include <algorithm>
#include <map>
#include <string>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/plan/param_groups.h"

namespace muonbench {
namespace {

int stage_of(const Parameter& param, int layers, int pp) {
  if (param.layer) return stage_of_layer(*param.layer, layers, pp);
  if (param.stage < pp) return param.stage;
  throw ConfigError(text("parameter '{}': stage: expected 0..{} (parallelism.pp is {}), got {}", param.name,
                         pp - 1, pp, param.stage));
}

}  // namespace

int stage_of_layer(int layer, int layers, int pp) {
  if (layer < 0) return 0;
  if (layer >= layers) return pp - 1;
  const int each = layers / pp, longer = layers % pp;
  // The first `longer` stages hold each + 1 layers.
  const int in_longer = longer * (each + 1);
  return layer < in_longer ? layer / (each + 1) : longer + (layer - in_longer) / each;
}

std::vector<Residence> place_params(const ParamSet& params, const GridShape& shape) {
  std::map<std::string, int> set_size, dealt;
  for (const Parameter& param : params.params)
    if (param.expert) ++set_size[param.expert_set];
  for (const auto& [set, count] : set_size) {
    if (count % shape.ep == 0) continue;
    throw ConfigError(
        text("parallelism.ep: expected a divisor of the {} experts of {}, got {}", count, set, shape.ep));
  }
  std::vector<Residence> residences;
  for (const Parameter& param : params.params) {
    Residence residence{stage_of(param, params.layers, shape.pp), 0};
    if (param.expert) residence.ep = dealt[param.expert_set]++ / (set_size[param.expert_set] / shape.ep);
    residences.push_back(residence);
  }
  return residences;
}

bool is_held(const Parameter& param, const Residence& residence, const Coordinates& at) {
  return at.pp == residence.stage && (!param.expert || at.ep == residence.ep);
}

bool is_held(const Parameter& param, const Residence& residence, const RankGrid& grid, WorldRank rank) {
  return is_held(param, residence, grid.coordinates(family_of(param), rank));
}

}  // namespace muonbench
