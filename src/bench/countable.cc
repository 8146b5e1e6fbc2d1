// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/countable.h"

#include <limits>

#include "src/base/error.h"
#include "src/base/text.h"

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
