// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/stats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "src/base/check.h"

namespace muonbench {
namespace {

std::vector<double> sorted_copy(const std::vector<double>& samples) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double quantile_of_sorted(const std::vector<double>& sorted, double q) {
  MUONBENCH_CHECK(!sorted.empty(), "a quantile of no samples");
  MUONBENCH_CHECK(q >= 0.0 && q <= 1.0, "q = {}", q);
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

std::optional<double> median(const std::vector<double>& samples) {
  if (samples.empty()) return std::nullopt;
  return quantile_of_sorted(sorted_copy(samples), 0.5);
}

std::optional<TimeSummary> summarise(const std::vector<double>& samples) {
  if (samples.empty()) return std::nullopt;
  const std::vector<double> sorted = sorted_copy(samples);
  TimeSummary summary;
  summary.min = sorted.front();
  summary.p50 = quantile_of_sorted(sorted, 0.5);
  summary.p95 = quantile_of_sorted(sorted, 0.95);
  summary.max = sorted.back();
  summary.mean = mean_of(samples);
  summary.samples = samples;
  return summary;
}

std::optional<double> max_over_mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const double mean = mean_of(values);
  if (!(mean > 0.0)) return std::nullopt;
  return *std::max_element(values.begin(), values.end()) / mean;
}

}  // namespace muonbench
