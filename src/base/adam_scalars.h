// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/base/optimizer_rules.h"

namespace muonbench {

/// AdamRule at one step as the fp32 numbers that one element needs. One computation for all devices, since
/// equal bits between them begin here.
struct AdamScalars {
  float beta1 = 0.0F, rest1 = 1.0F;  ///< beta and 1 - beta
  float beta2 = 0.0F, rest2 = 1.0F;
  float correction1 = 1.0F, correction2 = 1.0F;  ///< 1 - beta^k
  float lr = 0.0F, eps = 0.0F;
  float coupled = 0.0F,
        decoupled = 0.0F;  ///< weight decay within the gradient, or within the update; the other is 0
};
/// `step` counts from 1. Computed in double and rounded once.
[[nodiscard]] AdamScalars adam_scalars(const AdamRule& rule, std::int64_t step);

}  // namespace muonbench
