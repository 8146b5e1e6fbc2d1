// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/param_groups.h"

#include <algorithm>

namespace muonbench {

std::vector<ParamGroup> muon_groups(const ParamSet& params, const MomentumRule& rule,
                                    const GroupRules& own_rules) {
  std::vector<ParamGroup> groups;
  for (int i = 0; i < params.size(); ++i) {
    const Parameter& param = params[ParamIndex(i)];
    if (param.optimizer != OptimizerKind::kMuon || !param.has_gradient()) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const ParamGroup& group) {
      return group.label == param.group && group.family == family_of(param);
    });
    if (same != groups.end()) {
      same->params.push_back(ParamIndex(i));
      continue;
    }
    const auto own = own_rules.find(param.group);
    groups.push_back(
        {param.group, family_of(param), own == own_rules.end() ? rule : own->second, {ParamIndex(i)}});
  }
  return groups;
}

}  // namespace muonbench
