// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/work.h"

namespace muonbench {

/// The same copy with fewer, longer rows: a tile whose rows follow one another on both sides becomes one row,
/// and an empty one is left out. A tile of one row has no strides to speak of: they become its length.
[[nodiscard]] BoundCopy merge_rows(BoundCopy work);

}  // namespace muonbench
