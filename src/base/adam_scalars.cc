// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/adam_scalars.h"

#include <cmath>

namespace muonbench {

AdamScalars adam_scalars(const AdamRule& rule, std::int64_t step) {
  const auto k = static_cast<double>(step);
  return {.beta1 = static_cast<float>(rule.beta1),
          .rest1 = static_cast<float>(1.0 - rule.beta1),
          .beta2 = static_cast<float>(rule.beta2),
          .rest2 = static_cast<float>(1.0 - rule.beta2),
          .correction1 = static_cast<float>(1.0 - std::pow(rule.beta1, k)),
          .correction2 = static_cast<float>(1.0 - std::pow(rule.beta2, k)),
          .lr = rule.lr,
          .eps = rule.eps,
          .coupled = rule.decoupled_weight_decay ? 0.0F : rule.weight_decay,
          .decoupled = rule.decoupled_weight_decay ? rule.weight_decay : 0.0F};
}

}  // namespace muonbench
