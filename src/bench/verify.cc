// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "src/base/check.h"
#include "src/base/dtype.h"
#include "src/base/hash.h"

namespace muonbench {
namespace {

float rounded_to(DType dtype, float value) {
  switch (dtype) {
    case DType::kFp32: return value;
    case DType::kBf16: return round_to_bf16(value);
  }
  return value;
}

/// Changes against the initial weights, non-finite elements, and kept weights that are not their master.
void check_values(const MasterRows& master, const MasterRows& weights, DType weight_dtype,
                  const ValueSource& initial, RowCheck& check) {
  const auto cols = static_cast<std::size_t>(master.cols.count);
  std::vector<float> before(cols);
  check.delta_abs_min = std::numeric_limits<double>::infinity();
  for (std::int64_t r = 0; r < master.rows.count; ++r) {
    const std::int64_t row = master.rows.begin + r;
    initial.weights(master.param, row, master.cols.begin, before);
    const float* after = master.values.data() + static_cast<std::size_t>(r) * cols;
    const float* weight = weights.values.data() + static_cast<std::size_t>(row - weights.rows.begin) * cols;
    for (std::size_t c = 0; c < cols; ++c) {
      const double delta = std::abs(static_cast<double>(after[c]) - static_cast<double>(before[c]));
      check.delta_abs_min = std::min(check.delta_abs_min, delta);
      check.delta_abs_max = std::max(check.delta_abs_max, delta);
      if (!std::isfinite(after[c])) ++check.nonfinite;
      if (std::bit_cast<std::uint32_t>(weight[c]) !=
          std::bit_cast<std::uint32_t>(rounded_to(weight_dtype, after[c])))
        ++check.weights_unlike_master;
    }
  }
}

/// By parameter index.
std::vector<std::int64_t> nonfinite_moments(const RankState& state, std::size_t params) {
  std::vector<std::int64_t> counts(params, 0);
  for (const StateKind kind : {StateKind::kMomentum, StateKind::kExpAvg, StateKind::kExpAvgSq})
    for (const MasterRows& rows : state.read(kind))
      counts[rows.param.at()] +=
          std::count_if(rows.values.begin(), rows.values.end(), [](float v) { return !std::isfinite(v); });
  return counts;
}

using Place = std::tuple<int, Range, Range>;  // parameter, rows, cols

/// Compares everything that is said of one place with what was said first.
class EqualCopies {
 public:
  EqualCopies(const ParamSet& params, const char* what) : params_(params), what_(what) {}

  void expect(int param, Range rows, Range cols, std::uint64_t digest, int rank,
              std::vector<std::string>& faults) {
    const auto [first, is_new] = seen_.try_emplace(Place{param, rows, cols}, digest, rank);
    if (is_new || first->second.first == digest) return;
    faults.push_back(text("{}: {} of rows {}..{} differ between rank {} and rank {}",
                          params_[ParamIndex(param)].name, what_, rows.begin, rows.end() - 1,
                          first->second.second, rank));
  }

 private:
  const ParamSet& params_;
  const char* what_;
  std::map<Place, std::pair<std::uint64_t, int>> seen_;
};

Range common(Range a, Range b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max<std::int64_t>(std::min(a.end(), b.end()) - begin, 0)};
}

/// Of some of the rows; none of no rows, wherever they begin.
std::span<const float> values_of(const MasterRows& master, Range rows) {
  if (rows.empty()) return {};
  const std::int64_t cols = master.cols.count;
  return std::span(master.values)
      .subspan(static_cast<std::size_t>((rows.begin - master.rows.begin) * cols),
               static_cast<std::size_t>(rows.count * cols));
}

void add_counted(const RowCheck& check, ParamCheck& param) {
  param.digest += check.digest;
  param.nonfinite += check.nonfinite;
  if (check.rows.empty()) return;
  param.delta_abs_min = std::min(param.delta_abs_min.value_or(check.delta_abs_min), check.delta_abs_min);
  param.delta_abs_max = std::max(param.delta_abs_max.value_or(check.delta_abs_max), check.delta_abs_max);
}

}  // namespace

std::uint64_t digest_of(const MasterRows& rows, std::int64_t full_cols) {
  std::uint64_t sum = 0;
  std::size_t i = 0;
  for (std::int64_t r = 0; r < rows.rows.count; ++r) {
    const std::int64_t first = (rows.rows.begin + r) * full_cols + rows.cols.begin;
    for (std::int64_t c = 0; c < rows.cols.count; ++c, ++i)
      sum += mix(static_cast<std::uint64_t>(first + c), std::bit_cast<std::uint32_t>(rows.values[i]));
  }
  return sum;
}

std::vector<RowCheck> check_rows(const RankState& state, const StepInputs& inputs,
                                 const ValueSource& initial) {
  const std::vector<MasterRows> masters = state.read_master();
  const std::vector<MasterRows> weights = state.read_weights();
  const std::vector<std::int64_t> bad_moments = nonfinite_moments(state, inputs.params.params.size());
  std::vector<RowCheck> checks;
  for (std::size_t i = 0; i < masters.size(); ++i) {
    const MasterRows& master = masters[i];
    const std::int64_t full_cols = inputs.params[master.param].shape.cols;
    RowCheck check;
    check.param = master.param.value();
    check.rows = master.rows;
    check.cols = master.cols;
    check.counted = master.counted == Counted::kHere ? 1 : 0;
    check.digest = digest_of(master, full_cols);
    check.weight_rows = weights[i].rows;
    check.weight_digest = digest_of(weights[i], full_cols);
    check.nonfinite_moments = bad_moments[master.param.at()];
    check_values(master, weights[i], inputs.param_dtype, initial, check);
    checks.push_back(check);
  }
  return checks;
}

std::int64_t ModelCheck::nonfinite() const {
  std::int64_t sum = 0;
  for (const ParamCheck& param : params) sum += param.nonfinite;
  return sum;
}

ModelCheck merge_checks(const std::vector<std::vector<RowCheck>>& by_rank, const ParamSet& params) {
  ModelCheck model;
  model.params.resize(params.params.size());
  EqualCopies masters(params, "master copies"), weights(params, "weights");
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const RowCheck& check : by_rank[rank]) {
      const int r = static_cast<int>(rank);
      masters.expect(check.param, check.rows, check.cols, check.digest, r, model.faults);
      weights.expect(check.param, check.weight_rows, check.cols, check.weight_digest, r, model.faults);
      if (check.weights_unlike_master > 0) {
        model.faults.push_back(text("{}: {} weights on rank {} are not their master copy, rounded",
                                    params[ParamIndex(check.param)].name, check.weights_unlike_master, r));
      }
      model.params[static_cast<std::size_t>(check.param)].nonfinite_moments += check.nonfinite_moments;
      if (check.counted == 1) add_counted(check, model.params[static_cast<std::size_t>(check.param)]);
    }
  }
  for (std::size_t i = 0; i < model.params.size(); ++i) {
    ParamCheck& param = model.params[i];
    // An overflowed moment can make an update of zeros, which no weight shows.
    if (param.nonfinite == 0 && param.nonfinite_moments > 0) {
      model.faults.push_back(text("parameter {}: {} values of its moments are not finite",
                                  params.params[i].name, param.nonfinite_moments));
    }
    if (param.nonfinite == 0) continue;
    param.delta_abs_min.reset();
    param.delta_abs_max.reset();
  }
  return model;
}

MasterDifference compare_masters(const std::vector<MasterRows>& a, const std::vector<MasterRows>& b) {
  MUONBENCH_CHECK(a.size() == b.size(), "{} and {} parameters", a.size(), b.size());
  MasterDifference difference;
  for (std::size_t i = 0; i < a.size(); ++i) {
    MUONBENCH_CHECK(a[i].param == b[i].param && a[i].cols == b[i].cols, "shard {} of another place", i);
    const Range both = common(a[i].rows, b[i].rows);
    const std::span<const float> mine = values_of(a[i], both), theirs = values_of(b[i], both);
    for (std::size_t k = 0; k < mine.size(); ++k) {
      const float x = mine[k], y = theirs[k];
      if (std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) && std::isfinite(x)) continue;
      if (std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(y))
        difference.bit_identical = false;
      const double diff = std::abs(static_cast<double>(x) - static_cast<double>(y));
      // Once not finite, always not finite: max() would drop a NaN.
      if (!std::isfinite(diff) || !std::isfinite(difference.max_abs_diff))
        difference.max_abs_diff = std::numeric_limits<double>::quiet_NaN();
      else
        difference.max_abs_diff = std::max(difference.max_abs_diff, diff);
    }
  }
  return difference;
}

}  // namespace muonbench
