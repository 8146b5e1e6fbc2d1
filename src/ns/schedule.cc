// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/ns/schedule.h"

#include <algorithm>
#include <cmath>

#include "src/ns/ns_slice.h"

namespace muonbench {
namespace {

// Every part of the scratch starts on a multiple of 64 elements: 256 bytes of fp32, 128 of bf16, as devices
// like it.
constexpr std::int64_t kPartAlignment = 64;

Elements aligned(std::int64_t n) {
  return Elements((n + kPartAlignment - 1) / kPartAlignment * kPartAlignment);
}

// Of a symmetric product that sums over `length`: one triangle instead of the whole square saves half.
std::int64_t symmetric_flops(std::int64_t m, std::int64_t length, NsAlgorithm algorithm) {
  switch (algorithm) {
    case NsAlgorithm::kSyrk: return m * m * length;
    case NsAlgorithm::kGemm:
    case NsAlgorithm::kGram:
    case NsAlgorithm::kAuto: return 2 * m * m * length;
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

std::int64_t ns_cost(Shape full) { return ns_cost(whole_slice(full)); }

std::int64_t ns_cost(const NsSlice& slice) { return slice.length() * slice.gram_side() * slice.gram_side(); }

std::int64_t ns_part_flops(NsPart part, const NsSlice& slice, const NsCoefficients& step,
                           NsAlgorithm algorithm) {
  const std::int64_t m = slice.gram_side(), length = slice.length();
  switch (part) {
    case NsPart::kGram: return symmetric_flops(m, length, algorithm);
    case NsPart::kStep: return (step.c == 0.0 ? 0 : symmetric_flops(m, m, algorithm)) + 2 * m * m * length;
    case NsPart::kSumOfSquares:
    case NsPart::kNormalise:
    case NsPart::kScaleOut: return 0;
  }
  return 0;
}

std::int64_t ns_flops(Shape full, const NsOptions& options) {
  std::int64_t flops = 0;
  for (const NsCoefficients& step : options.steps)
    for (const NsPart part : {NsPart::kGram, NsPart::kStep})
      flops += ns_part_flops(part, whole_slice(full), step, options.algorithm);
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

NsScratchLayout ns_scratch_layout(Shape full) { return ns_scratch_layout(whole_slice(full)); }

NsScratchLayout ns_scratch_layout(const NsSlice& slice) {
  const Elements iterate = aligned(slice.shape.elements().value());
  const Elements square = aligned(slice.gram_side() * slice.gram_side());
  return {.x = Elements(0),
          .next = iterate,
          .gram = iterate * 2,
          .poly = iterate * 2 + square,
          .total = iterate * 2 + square * 2};
}

}  // namespace muonbench
