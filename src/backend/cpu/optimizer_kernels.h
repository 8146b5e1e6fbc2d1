// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/backend.h"

namespace muonbench::cpu {

/// Decay, momentum and Nesterov of every item, as MomentumRule defines them.
void run_momentum(const BoundMomentum& work);

/// master <- master + (-lr) * update, and its bf16 copy where there is one.
void run_update(const BoundUpdate& work);

/// One Adam step of every item, as AdamRule defines it; `step` counts from 1.
void run_adam(const BoundAdam& work, std::int64_t step);

}  // namespace muonbench::cpu
