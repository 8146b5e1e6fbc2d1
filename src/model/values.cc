// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/values.h"

#include <algorithm>
#include <cmath>

#include "src/base/check.h"
#include "src/base/hash.h"
#include "src/base/normal.h"
#include "src/base/normal_rows.h"

namespace muonbench {
namespace {

constexpr double kWeightDeviation = 0.02;
constexpr std::uint64_t kWeightStream = 1;
constexpr std::uint64_t kGradientStream = 2;
float element(const NormalStream& stream, std::int64_t row, std::int64_t col) {
  const std::uint64_t bits = normal::element_bits(normal::row_key(stream.key, row), col);
  return static_cast<float>(standard_normal(bits) * stream.scale);
}

/// What a gradient is where it is not random.
float constant_gradient(const Parameter& param) {
  MUONBENCH_CHECK(param.has_gradient(), "parameter {}", param.name);
  return param.gradient == GradientFill::kOnes ? static_cast<float>(param.gradient_scale) : 0.0F;
}

}  // namespace

double standard_normal(std::uint64_t bits) {
  return normal::from_bits(bits, [](double x) { return std::sqrt(x); });
}

NormalStream weight_stream(std::uint64_t seed, const Parameter& param) {
  return {mix(mix(mix(kWeightStream, seed), param.value_key), 0), kWeightDeviation};
}

std::optional<NormalStream> gradient_stream(std::uint64_t seed, std::int64_t step, const Parameter& param) {
  if (param.gradient != GradientFill::kRandom) return std::nullopt;
  return NormalStream{mix(mix(mix(kGradientStream, seed), param.value_key), static_cast<std::uint64_t>(step)),
                      param.gradient_scale};
}

float weight_value(std::uint64_t seed, const Parameter& param, std::int64_t row, std::int64_t col) {
  return element(weight_stream(seed, param), row, col);
}

float gradient_value(std::uint64_t seed, std::int64_t step, const Parameter& param, std::int64_t row,
                     std::int64_t col) {
  const auto stream = gradient_stream(seed, step, param);
  return stream ? element(*stream, row, col) : constant_gradient(param);
}

void fill_weights(std::uint64_t seed, const Parameter& param, std::int64_t row, Range cols,
                  std::span<float> out) {
  MUONBENCH_CHECK(std::ssize(out) == cols.count, "out {}, columns {}", out.size(), cols.count);
  const NormalStream stream = weight_stream(seed, param);
  fill_normal_row(stream.key, row, cols.begin, stream.scale, out);
}

void fill_gradients(std::uint64_t seed, std::int64_t step, const Parameter& param, std::int64_t row,
                    Range cols, std::span<float> out) {
  MUONBENCH_CHECK(std::ssize(out) == cols.count, "out {}, columns {}", out.size(), cols.count);
  if (const auto stream = gradient_stream(seed, step, param))
    fill_normal_row(stream->key, row, cols.begin, stream->scale, out);
  else
    std::fill(out.begin(), out.end(), constant_gradient(param));
}

}  // namespace muonbench
