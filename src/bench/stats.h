// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "src/bench/result.h"

namespace muonbench {

/// Quantile `q` (0 to 1) of `sorted` by linear interpolation between the two nearest order statistics, the
/// type 7 of Hyndman and Fan that NumPy and R default to: position q * (n - 1), counted from 0. `sorted`
/// ascends and is not empty.
[[nodiscard]] double quantile_of_sorted(const std::vector<double>& sorted, double q);

/// Median of `samples` in any order; empty if there are none.
[[nodiscard]] std::optional<double> median(const std::vector<double>& samples);

/// Order statistics of `samples`, which are kept in the order given. One sample is enough: then all five are
/// that sample. Empty if there are none: a missing time is unknown, never 0.
[[nodiscard]] std::optional<TimeSummary> summarise(const std::vector<double>& samples);

/// max / mean, how far the heaviest rank stands above the average. Empty without values or when all are 0.
[[nodiscard]] std::optional<double> max_over_mean(const std::vector<double>& values);

}  // namespace muonbench
