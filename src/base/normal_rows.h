// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace muonbench {

/// out[i] <- scale times the standard normal of element (row, first_col + i) of `stream` (base/normal.h),
/// rounded once to fp32. Several times faster than element by element.
void fill_normal_row(std::uint64_t stream, std::int64_t row, std::int64_t first_col, double scale,
                     std::span<float> out);

}  // namespace muonbench
