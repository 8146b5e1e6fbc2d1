// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tests/reference/naive_newton_schulz.h"

#include "src/bench/resolve.h"

/// What Muon makes of a weight, said once more in fp64.
namespace muonbench {

/// Cells of a full matrix that NS takes as a matrix of their own.
struct Block {
  std::vector<std::int64_t> rows;
  std::int64_t first_col, cols;
};

[[nodiscard]] Block whole(const Parameter& param);

/// Shards that are more than pads; copies of one shard once.
[[nodiscard]] std::vector<Block> shards(const Parameter& param, DomainShape domain,
                                        std::int64_t pad_for_alignment);

/// Each block's rows of q, of k and of v, by their place in the full matrix.
[[nodiscard]] std::vector<Block> pieces(const Parameter& param, const std::vector<Block>& blocks);

/// Weights after all steps, in fp64 throughout: decay, momentum, nesterov, NS of each block, its scale.
/// Schedule quintic with five steps, or the configuration's custom coefficients; scale mode spectral.
[[nodiscard]] reference::Matrix trajectory(const ResolvedRun& run, const Parameter& param,
                                           const std::vector<Block>& blocks);

/// Distance of the weights from a trajectory over the largest that is right, so at most 1. As golden files
/// are judged: relative to how far the weights moved, and a rounding of 2^-24 a step. NaN if they did not
/// move.
[[nodiscard]] double miss_over_bound(const std::vector<float>& actual, const reference::Matrix& expected,
                                     const ResolvedRun& run, const Parameter& param);

}  // namespace muonbench
