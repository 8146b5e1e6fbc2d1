// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/base/strong.h"

namespace muonbench {

/// Whole parameters to ranks, as the layer-wise optimizer first did it: by size, ascending and stable, to
/// ranks visited 0, 1, ..., R-1, R-1, ..., 1, 0 and again, so that the end ranks get two in a row. Returns
/// each parameter's rank, in list order. Where the largest ones land depends on their number alone: with 1 or
/// R + 1 (mod 2R) parameters the two largest meet on one rank.
[[nodiscard]] std::vector<GroupRank> ping_pong(const std::vector<Elements>& sizes, int ranks);

}  // namespace muonbench
