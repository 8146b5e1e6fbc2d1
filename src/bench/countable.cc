// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/countable.h"

#include <algorithm>
#include <limits>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/plan/distribution.h"

namespace muonbench {

void refuse_uncountable_work(const ParamSet& params, const std::vector<RowSplit>& splits,
                             const NsOptions& ns) {
  double flops = 0.0;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const Parameter& param = params.params[i];
    if (param.optimizer != OptimizerKind::kMuon) continue;
    for (const Shape& matrix : splits[i].matrices(param.shape)) {
      const auto m = static_cast<double>(matrix.min_dim()), n = static_cast<double>(matrix.max_dim());
      flops += static_cast<double>(ns.steps.size()) * (4.0 * m * m * n + 2.0 * m * m * m);
    }
    if (flops >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
      throw ConfigError(
          text("parameter '{}' ({} x {}): the NS work of a step is {:.3g} floating point operations so far, "
               "expected it to fit a signed 64-bit number",
               param.name, param.shape.rows, param.shape.cols, flops));
    }
  }
}

void refuse_uncountable_grams(const ParamSet& params, const std::vector<RowSplit>& splits,
                              const std::vector<ParamShardSpec>& specs, const NsOptions& ns) {
  constexpr double kBytesPerElement = 16.0;  // A and B, and what travels
  double work = 0.0, bytes = 0.0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Parameter& param = params.params[i];
    const auto distribution = distribution_of(specs[i]);
    if (param.optimizer != OptimizerKind::kMuon || !distribution) continue;
    for (const Shape& matrix : splits[i].matrices(param.shape)) {
      const bool by_rows = distribution->side == GramSide::kRows;
      const auto side = static_cast<double>(by_rows ? matrix.rows : matrix.cols);
      const auto length = static_cast<double>(by_rows ? matrix.cols : matrix.rows);
      work += static_cast<double>(ns.steps.size()) * side * side * (4.0 * length + 2.0 * side);
      bytes += kBytesPerElement * static_cast<double>(ns.steps.size() + 1) * side * side;
    }
    if (std::max(work, bytes) < static_cast<double>(std::numeric_limits<std::int64_t>::max())) continue;
    throw ConfigError(
        text("modes: distributed: parameter '{}' ({} x {}): with Gram matrices on its dim {}, a step takes "
             "{:.3g} floating point operations and {:.3g} bytes so far, expected both to fit a signed 64-bit "
             "number",
             param.name, param.shape.rows, param.shape.cols, distribution->side == GramSide::kRows ? 0 : 1,
             work, bytes));
  }
}

void refuse_uncountable_bytes(const ParamSet& params, const std::vector<ParamShardSpec>& specs) {
  constexpr double kMostBytesPerElement =
      64.0;  // weight, gradient, state, exchange and scratch of one element
  double bytes = 0.0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto rows = static_cast<double>(specs[i].tp_local_shape().rows + specs[i].pad_length);
    bytes += rows * static_cast<double>(specs[i].full_shape.cols) * specs[i].domain.tp * kMostBytesPerElement;
    if (bytes < static_cast<double>(std::numeric_limits<std::int64_t>::max())) continue;
    throw ConfigError(
        text("parameter '{}' ({} x {}): with {} pad rows, the model takes {:.3g} bytes so far, expected them "
             "to fit a signed 64-bit number",
             params.params[i].name, params.params[i].shape.rows, params.params[i].shape.cols,
             specs[i].pad_length, bytes));
  }
}

}  // namespace muonbench
