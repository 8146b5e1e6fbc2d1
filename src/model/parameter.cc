// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/parameter.h"

namespace muonbench {

std::optional<ParamIndex> ParamSet::find(const std::string& name) const {
  for (int i = 0; i < size(); ++i)
    if ((*this)[ParamIndex(i)].name == name) return ParamIndex(i);
  return std::nullopt;
}

Elements ParamSet::elements() const {
  return elements(OptimizerKind::kMuon) + elements(OptimizerKind::kAdam);
}

Elements ParamSet::elements(OptimizerKind kind) const {
  Elements sum;
  for (const Parameter& param : params)
    if (param.optimizer == kind) sum += param.shape.elements();
  return sum;
}

}  // namespace muonbench
