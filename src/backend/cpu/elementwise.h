// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/base/adam_scalars.h"

/// Loops over n elements, each element by itself: however an array is cut into pieces, the bits are the same.
/// Every multiply and every add rounds (the build forbids contraction into fma).
namespace muonbench::cpu {

/// y <- y + factor * x; x may be y.
void add_scaled(float* y, const float* x, float factor, std::int64_t n);

/// out <- lerp(start, end, weight) as optimizer_rules.h defines it; out may be start or end.
void lerp(float* out, const float* start, const float* end, float weight, std::int64_t n);

/// out <- factor * x; out may be x.
void scale(float* out, const float* x, float factor, std::int64_t n);

/// out <- (x * first) * second, rounded twice; out may be x.
void scale_twice(float* out, const float* x, float first, float second, std::int64_t n);

/// out <- x * factor, the product taken in double.
void scale_in_double(float* out, const float* x, double factor, std::int64_t n);

/// Sum of squares in double over 16 interleaved partial sums, added pairwise in a fixed order.
[[nodiscard]] double sum_of_squares(const float* x, std::int64_t n);

/// Each x becomes the bf16 number nearest to it, still stored as fp32.
void round_to_bf16_values(float* x, std::int64_t n);

/// As round_to_bf16_values, to fp16.
void round_to_fp16_values(float* x, std::int64_t n);

/// out <- matrix + value * identity, of row-major (n, n) matrices.
void add_to_diagonal(float* out, const float* matrix, float value, std::int64_t n);

void bf16_from_fp32(std::uint16_t* out, const float* x, std::int64_t n);
void fp32_from_bf16(float* out, const std::uint16_t* x, std::int64_t n);

struct AdamState {
  const float* gradient;
  float* master;
  float* exp_avg;
  float* exp_avg_sq;
};
/// One Adam step on n elements. The gradient is left alone, under coupled decay too.
void adam(const AdamState& state, const AdamScalars& scalars, std::int64_t n);

/// The lower triangle of a row-major (n, n) matrix becomes the mirror image of the upper one.
void mirror_upper_triangle(float* matrix, std::int64_t n);

}  // namespace muonbench::cpu
