// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/model/parameter.h"
#include "src/model/values.h"

namespace muonbench {

/// Where initial weights and gradients come from, a row piece at a time: `out` receives the elements of
/// full-matrix row `row` from column `first_col` on. Equal on all ranks.
class ValueSource {
 public:
  ValueSource() = default;
  ValueSource(const ValueSource&) = delete;
  ValueSource& operator=(const ValueSource&) = delete;
  virtual ~ValueSource() = default;
  virtual void weights(ParamIndex p, std::int64_t row, std::int64_t first_col,
                       std::span<float> out) const = 0;
  virtual void gradients(ParamIndex p, std::int64_t step, std::int64_t row, std::int64_t first_col,
                         std::span<float> out) const = 0;
  /// The whole parameter as a stream of normal numbers, for devices to make themselves; none where it is
  /// something else, in some element at least.
  [[nodiscard]] virtual std::optional<NormalStream> weight_stream(ParamIndex /*p*/) const {
    return std::nullopt;
  }
  [[nodiscard]] virtual std::optional<NormalStream> gradient_stream(ParamIndex /*p*/,
                                                                    std::int64_t /*step*/) const {
    return std::nullopt;
  }
};

/// Values as functions of (seed, step, parameter, row, column), bad elements injected.
class GeneratedValues final : public ValueSource {
 public:
  GeneratedValues(const ParamSet& params, std::uint64_t seed, std::vector<GradientInjection> injections)
      : params_(params), seed_(seed), injections_(std::move(injections)) {}
  void weights(ParamIndex p, std::int64_t row, std::int64_t first_col, std::span<float> out) const override;
  void gradients(ParamIndex p, std::int64_t step, std::int64_t row, std::int64_t first_col,
                 std::span<float> out) const override;
  [[nodiscard]] std::optional<NormalStream> weight_stream(ParamIndex p) const override;
  [[nodiscard]] std::optional<NormalStream> gradient_stream(ParamIndex p, std::int64_t step) const override;

 private:
  const ParamSet& params_;
  std::uint64_t seed_;
  std::vector<GradientInjection> injections_;
};

/// Values of one parameter from row-major arrays.
class GivenValues final : public ValueSource {
 public:
  /// weights: rows x cols; gradients: one such array per step.
  GivenValues(std::int64_t cols, std::vector<float> weights, std::vector<std::vector<float>> gradients)
      : cols_(cols), weights_(std::move(weights)), gradients_(std::move(gradients)) {}
  void weights(ParamIndex p, std::int64_t row, std::int64_t first_col, std::span<float> out) const override;
  void gradients(ParamIndex p, std::int64_t step, std::int64_t row, std::int64_t first_col,
                 std::span<float> out) const override;

 private:
  std::int64_t cols_;
  std::vector<float> weights_;
  std::vector<std::vector<float>> gradients_;
};

}  // namespace muonbench
