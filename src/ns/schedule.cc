// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/ns/schedule.h"

#include <algorithm>
#include <cmath>

namespace muonbench {
namespace {

// Every part of the scratch starts on a multiple of 64 elements: 256 bytes of fp32, 128 of bf16, as devices
// like it.
constexpr std::int64_t kPartAlignment = 64;

Elements aligned(std::int64_t n) {
  return Elements((n + kPartAlignment - 1) / kPartAlignment * kPartAlignment);
}

// One triangle instead of the whole square saves half of the two symmetric products.
std::int64_t flops_of_step(std::int64_t m, std::int64_t n, bool cubic, NsAlgorithm algorithm) {
  const std::int64_t rectangular = 2 * m * m * n;
  const std::int64_t square = cubic ? 0 : 2 * m * m * m;
  switch (algorithm) {
    case NsAlgorithm::kSyrk: return rectangular / 2 + square / 2 + rectangular;
    case NsAlgorithm::kGemm:
    case NsAlgorithm::kGram:
    case NsAlgorithm::kAuto: return rectangular + square + rectangular;
  }
  return 0;
}

}  // namespace

NsScale ns_scale(Shape full, const NsOptions& options) {
  return {scale_factor(options.scale_mode, full), static_cast<float>(options.extra_scale_factor)};
}

float scale_factor(ScaleMode mode, Shape full) {
  const auto rows = static_cast<double>(full.rows);
  const auto cols = static_cast<double>(full.cols);
  switch (mode) {
    case ScaleMode::kSpectral: return static_cast<float>(std::sqrt(std::max(rows, cols)));
    case ScaleMode::kShapeScaling: return static_cast<float>(std::sqrt(std::max(1.0, rows / cols)));
    case ScaleMode::kUnitRmsNorm: return static_cast<float>(std::sqrt(rows / cols));
  }
  return 0.0F;
}

std::int64_t ns_cost(Shape full) { return full.max_dim() * full.min_dim() * full.min_dim(); }

std::int64_t ns_flops(Shape full, const NsOptions& options) {
  std::int64_t flops = 0;
  for (const NsCoefficients& step : options.steps)
    flops += flops_of_step(full.min_dim(), full.max_dim(), step.c == 0.0, options.algorithm);
  return flops;
}

Elements ns_scratch_elements(NsShape shape, const NsOptions& options) {
  const Elements one = ns_scratch_layout(shape.matrix).total;
  switch (options.batching) {
    case NsBatching::kInTurn: return one;
    case NsBatching::kTogether: return one * shape.batch;
  }
  return one;
}

NsScratchLayout ns_scratch_layout(Shape full) {
  const Elements iterate = aligned(full.elements().value());
  const Elements square = aligned(full.min_dim() * full.min_dim());
  return {.x = Elements(0),
          .next = iterate,
          .gram = iterate * 2,
          .poly = iterate * 2 + square,
          .total = iterate * 2 + square * 2};
}

}  // namespace muonbench
