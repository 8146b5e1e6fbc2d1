// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/backend.h"

namespace muonbench::cpu {

/// Copies every tile, converting between fp32 and bf16 (to nearest, ties to even).
void copy_tiles(const BoundCopy& work);

}  // namespace muonbench::cpu
