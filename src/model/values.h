// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "src/model/parameter.h"

namespace muonbench {

/// Values are functions of (seed, step, parameter, row, column) alone, so that any rank makes its own shard
/// and nobody broadcasts. All arithmetic is integer or IEEE double with + - * / sqrt, uncontracted: equal
/// bits on every machine.

/// base/normal.h.
[[nodiscard]] double standard_normal(std::uint64_t bits);

/// An array of normal numbers by base/normal.h: the stream of its elements, and what they are multiplied by.
struct NormalStream {
  std::uint64_t key = 0;
  double scale = 1.0;
};
[[nodiscard]] NormalStream weight_stream(std::uint64_t seed, const Parameter& param);
/// None where all elements are equal: gradients other than random.
[[nodiscard]] std::optional<NormalStream> gradient_stream(std::uint64_t seed, std::int64_t step,
                                                          const Parameter& param);

/// Initial weight: normal(0, 0.02).
[[nodiscard]] float weight_value(std::uint64_t seed, const Parameter& param, std::int64_t row,
                                 std::int64_t col);

/// gradients.inject: one element that is overwritten with a bad value at one step.
struct GradientInjection {
  ParamIndex param;
  std::int64_t step = 0;  ///< counts from 0 over warm-up and timed steps
  std::int64_t row = 0;
  std::int64_t col = 0;
  float value = std::numeric_limits<float>::quiet_NaN();
};

/// Gradient of one element: its parameter's fill (random = normal(0, 1)) times gradient_scale.
[[nodiscard]] float gradient_value(std::uint64_t seed, std::int64_t step, const Parameter& param,
                                   std::int64_t row, std::int64_t col);

/// A stretch of one row: out[i] is the element at column cols.begin + i. Equal to the functions above, bit
/// for bit, and several times faster, as what an element shares with its row is computed once. out.size() ==
/// cols.count.
void fill_weights(std::uint64_t seed, const Parameter& param, std::int64_t row, Range cols,
                  std::span<float> out);
void fill_gradients(std::uint64_t seed, std::int64_t step, const Parameter& param, std::int64_t row,
                    Range cols, std::span<float> out);

}  // namespace muonbench
