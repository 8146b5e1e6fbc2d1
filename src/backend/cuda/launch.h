// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace muonbench::cuda {

/// A grid of `blocks` thread blocks in its first dimension. Throws RuntimeFailure beyond what a grid may
/// have.
[[nodiscard]] unsigned grid_of(std::int64_t blocks);

/// Throws RuntimeFailure if the launch before it was refused.
void check_launch(const char* kernel);

}  // namespace muonbench::cuda
