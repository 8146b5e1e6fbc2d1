// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/optimizer_rules.h"
#include "src/model/parameter.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Grad-bearing Muon parameters that share a domain and hyper-parameters, in model order. No group mixes
/// families.
struct ParamGroup {
  std::string label;
  Family family = Family::kDense;
  MomentumRule rule;
  std::vector<ParamIndex> params;
};

[[nodiscard]] constexpr Family family_of(const Parameter& param) {
  return param.expert ? Family::kExpert : Family::kDense;
}

/// Hyper-parameters of labels that differ from the rest.
using GroupRules = std::map<std::string, MomentumRule>;

/// Groups in order of first appearance, each by the rule of its label, else by `rule`; parameters without
/// gradient are in none.
[[nodiscard]] std::vector<ParamGroup> muon_groups(const ParamSet& params, const MomentumRule& rule,
                                                  const GroupRules& own_rules = {});

}  // namespace muonbench
