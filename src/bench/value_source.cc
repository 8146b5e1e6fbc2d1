// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/value_source.h"

#include <algorithm>

#include "src/base/check.h"

namespace muonbench {
namespace {

void copy_row(const std::vector<float>& matrix, std::int64_t cols, std::int64_t row, std::int64_t first_col,
              std::span<float> out) {
  const auto begin = static_cast<std::size_t>(row * cols + first_col);
  MUONBENCH_CHECK(begin + out.size() <= matrix.size(), "row {} of an array of {}", row, matrix.size());
  std::copy_n(matrix.begin() + static_cast<std::ptrdiff_t>(begin), out.size(), out.begin());
}

}  // namespace

void GeneratedValues::weights(ParamIndex p, std::int64_t row, std::int64_t first_col,
                              std::span<float> out) const {
  fill_weights(seed_, params_[p], row, Range{first_col, static_cast<std::int64_t>(out.size())}, out);
}

void GeneratedValues::gradients(ParamIndex p, std::int64_t step, std::int64_t row, std::int64_t first_col,
                                std::span<float> out) const {
  fill_gradients(seed_, step, params_[p], row, Range{first_col, static_cast<std::int64_t>(out.size())}, out);
  for (const GradientInjection& bad : injections_) {
    const std::int64_t at = bad.col - first_col;
    if (bad.param == p && bad.step == step && bad.row == row && at >= 0 &&
        at < static_cast<std::int64_t>(out.size()))
      out[static_cast<std::size_t>(at)] = bad.value;
  }
}

std::optional<NormalStream> GeneratedValues::weight_stream(ParamIndex p) const {
  return muonbench::weight_stream(seed_, params_[p]);
}

std::optional<NormalStream> GeneratedValues::gradient_stream(ParamIndex p, std::int64_t step) const {
  const bool injected =
      std::any_of(injections_.begin(), injections_.end(),
                  [&](const GradientInjection& bad) { return bad.param == p && bad.step == step; });
  return injected ? std::nullopt : muonbench::gradient_stream(seed_, step, params_[p]);
}

void GivenValues::weights(ParamIndex /*p*/, std::int64_t row, std::int64_t first_col,
                          std::span<float> out) const {
  copy_row(weights_, cols_, row, first_col, out);
}

void GivenValues::gradients(ParamIndex /*p*/, std::int64_t step, std::int64_t row, std::int64_t first_col,
                            std::span<float> out) const {
  copy_row(gradients_.at(static_cast<std::size_t>(step)), cols_, row, first_col, out);
}

}  // namespace muonbench
