// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "src/base/dtype.h"

// Wide vectors where the processor has them. None of these loops gains an fma by it, so bits do not depend on
// the choice. Sanitizers instrument the resolver, which runs before they are up.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define MUONBENCH_VECTORIZED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define MUONBENCH_VECTORIZED
#endif

namespace muonbench::cpu {

MUONBENCH_VECTORIZED void add_scaled(float* y, const float* x, float factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] + factor * x[i];
}

namespace {

MUONBENCH_VECTORIZED void lerp_from_start(float* out, const float* start, const float* end, float weight,
                                          std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = start[i] + weight * (end[i] - start[i]);
}

MUONBENCH_VECTORIZED void lerp_from_end(float* out, const float* start, const float* end, float weight,
                                        std::int64_t n) {
  const float rest = 1.0F - weight;
  for (std::int64_t i = 0; i < n; ++i) out[i] = end[i] - (end[i] - start[i]) * rest;
}

}  // namespace

void lerp(float* out, const float* start, const float* end, float weight, std::int64_t n) {
  if (std::fabs(weight) < 0.5F)
    lerp_from_start(out, start, end, weight, n);
  else
    lerp_from_end(out, start, end, weight, n);
}

MUONBENCH_VECTORIZED void scale(float* out, const float* x, float factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = factor * x[i];
}

MUONBENCH_VECTORIZED void scale_twice(float* out, const float* x, float first, float second, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = (x[i] * first) * second;
}

MUONBENCH_VECTORIZED void scale_in_double(float* out, const float* x, double factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(static_cast<double>(x[i]) * factor);
}

MUONBENCH_VECTORIZED double sum_of_squares(const float* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 16;
  std::array<double, kLanes> sums{};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      sums[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  for (std::int64_t i = whole; i < n; ++i) {
    const double value = x[i];
    sums[static_cast<std::size_t>(i - whole)] += value * value;
  }
  for (std::size_t width = kLanes / 2; width > 0; width /= 2)
    for (std::size_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  return sums[0];
}

MUONBENCH_VECTORIZED void round_to_fp16_values(float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = round_to_fp16(x[i]);
}

void add_to_diagonal(float* out, const float* matrix, float value, std::int64_t n) {
  std::copy_n(matrix, n * n, out);
  for (std::int64_t i = 0; i < n; ++i) out[i * (n + 1)] += value;
}

MUONBENCH_VECTORIZED void round_to_bf16_values(float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = round_to_bf16(x[i]);
}

MUONBENCH_VECTORIZED void bf16_from_fp32(std::uint16_t* out, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = muonbench::bf16_from_fp32(x[i]);
}

MUONBENCH_VECTORIZED void fp32_from_bf16(float* out, const std::uint16_t* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = muonbench::fp32_from_bf16(x[i]);
}

MUONBENCH_VECTORIZED void adam(const AdamState& state, const AdamScalars& scalars, std::int64_t n) {
  const float* __restrict gradient = state.gradient;
  float* __restrict master = state.master;
  float* __restrict exp_avg = state.exp_avg;
  float* __restrict exp_avg_sq = state.exp_avg_sq;
  const AdamScalars s = scalars;
  for (std::int64_t i = 0; i < n; ++i) {
    const float p = master[i];
    const float g = s.coupled == 0.0F ? gradient[i] : gradient[i] + s.coupled * p;
    const float m = s.beta1 * exp_avg[i] + s.rest1 * g;
    const float v = s.beta2 * exp_avg_sq[i] + s.rest2 * g * g;
    const float direction = (m / s.correction1) / (std::sqrt(v / s.correction2) + s.eps);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    master[i] = p - s.lr * (s.decoupled == 0.0F ? direction : direction + s.decoupled * p);
  }
}

void mirror_upper_triangle(float* matrix, std::int64_t n) {
  // Square blocks keep both the rows read and the rows written in the first-level cache.
  constexpr std::int64_t kBlock = 32;
  for (std::int64_t row_block = 0; row_block < n; row_block += kBlock) {
    for (std::int64_t col_block = 0; col_block <= row_block; col_block += kBlock) {
      const std::int64_t row_end = std::min(row_block + kBlock, n);
      for (std::int64_t row = row_block; row < row_end; ++row) {
        const std::int64_t col_end = std::min(col_block + kBlock, row);
        for (std::int64_t col = col_block; col < col_end; ++col)
          matrix[row * n + col] = matrix[col * n + row];
      }
    }
  }
}

}  // namespace muonbench::cpu
