// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/bench/rank_state.h"
#include "src/bench/value_source.h"

namespace muonbench {

/// What one rank finds in the rows that it keeps of one parameter. Plain data: it travels to rank 0 as bytes.
struct RowCheck {
  int param = 0;
  Range rows, cols;  ///< of the full matrix
  int counted = 0;   ///< 1 if this rank reports the rows for the whole model
  std::uint64_t digest = 0;
  double delta_abs_min = 0.0, delta_abs_max = 0.0;  ///< meaningless if rows are empty
  std::int64_t nonfinite = 0;
  std::int64_t nonfinite_moments = 0;  ///< of momentum, exp_avg and exp_avg_sq
  // The shard's weights, of which all ranks with the same shard hold equal copies.
  Range weight_rows;
  std::uint64_t weight_digest = 0;
  std::int64_t weights_unlike_master =
      0;  ///< kept elements whose weight is not the master, rounded to the weights' dtype
};

/// Sum over elements, mod 2^64, of mix(row-major index in the full matrix, fp32 bits): independent of how the
/// matrix is sharded, so equal digests mean bit-equal matrices.
[[nodiscard]] std::uint64_t digest_of(const MasterRows& rows, std::int64_t full_cols);

/// One entry per parameter that the rank holds. `initial` gives the weights before the first step.
[[nodiscard]] std::vector<RowCheck> check_rows(const RankState& state, const StepInputs& inputs,
                                               const ValueSource& initial);

/// One parameter over all ranks.
struct ParamCheck {
  std::uint64_t digest = 0;
  std::optional<double> delta_abs_min, delta_abs_max;  ///< none if an element is not finite
  std::int64_t nonfinite = 0;
  std::int64_t nonfinite_moments = 0;  ///< over all ranks, copies included
};

struct ModelCheck {
  std::vector<ParamCheck> params;   ///< by parameter index
  std::vector<std::string> faults;  ///< copies that differ, weights that are not their master: one line each
  [[nodiscard]] std::int64_t nonfinite() const;
};

/// `by_rank`: each rank's checks. Sums what counts and compares what must be equal.
[[nodiscard]] ModelCheck merge_checks(const std::vector<std::vector<RowCheck>>& by_rank,
                                      const ParamSet& params);

/// Difference of two modes' master copies on one rank, where it keeps a row in both.
struct MasterDifference {
  bool bit_identical = true;
  double max_abs_diff = 0.0;  ///< NaN if an element is not finite in either
};
[[nodiscard]] MasterDifference compare_masters(const std::vector<MasterRows>& a,
                                               const std::vector<MasterRows>& b);

}  // namespace muonbench
