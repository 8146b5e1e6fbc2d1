// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/ns/schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/check.h"
#include "src/base/even_part.h"
#include "src/ns/ns_slice.h"

namespace muonbench {
namespace {

// Every part of the scratch starts on a multiple of 64 elements: 256 bytes of fp32, 128 of 16-bit numbers, as
// devices like it.
constexpr std::int64_t kPartAlignment = 64;

// Of gram, without a restart. Against the exact polynomial, on Gaussian matrices of 128 x 128 to 2048 x 5120,
// on singular values from 1 to 1e-6, on rank 32 in noise and on rows that differ by 1e5, quintic and
// polar_express in fp16 are then 2 to 8 times closer than gemm in bf16; five steps in fp16 are up to 3 times
// farther on some.
constexpr int kMostStepsIn16Bits = 3, kMostStepsInFp32 = 5;

Elements aligned(std::int64_t n) {
  return Elements((n + kPartAlignment - 1) / kPartAlignment * kPartAlignment);
}

// Of a symmetric product that sums over `length`: one triangle instead of the whole square saves half.
std::int64_t symmetric_flops(std::int64_t m, std::int64_t length, NsAlgorithm algorithm) {
  switch (algorithm) {
    case NsAlgorithm::kSyrk:
    case NsAlgorithm::kGram: return m * m * length;
    case NsAlgorithm::kGemm: return 2 * m * m * length;
    case NsAlgorithm::kAuto: break;
  }
  MUONBENCH_CHECK(false, "operations of ns_algorithm auto, which is not resolved");
}

// Of 128 x 128 in the lower triangle, for auto on a GPU: on an H200 (132 multiprocessors, `gpu_bench
// algorithms`) 36 tiles lose to gemm, 78 break even, 136 and more win.
constexpr std::int64_t kTileSide = 128, kFewestTiles = 66;
// What gram's smaller products lose of its fewer operations.
constexpr double kGramOverhead = 1.1;

bool fills_a_gpu(const NsSlice& slice, int count) {
  const std::int64_t side = (slice.gram_side() + kTileSide - 1) / kTileSide;
  return has_halves(slice) && side * (side + 1) / 2 * count >= kFewestTiles;
}

/// Of gemm and syrk, for auto.
NsAlgorithm by_products(const NsSlice& slice, const NsOptions& options, int count) {
  switch (options.batching) {
    case NsBatching::kInTurn: return NsAlgorithm::kSyrk;
    case NsBatching::kTogether:
      return options.storage != DType::kFp32 && fills_a_gpu(slice, count) ? NsAlgorithm::kSyrk
                                                                          : NsAlgorithm::kGemm;
  }
  return NsAlgorithm::kGemm;
}

/// Operations of gram as this kind of device carries them out: BLAS has no symmetric product of two matrices.
double gram_operations(const NsSlice& slice, const NsOptions& gram) {
  auto operations = static_cast<double>(ns_flops(slice.shape, gram));
  if (gram.batching == NsBatching::kInTurn) {
    const auto m = static_cast<double>(slice.gram_side());
    for (const NsStretch& stretch : ns_stretches(gram)) operations += 3.0 * (stretch.count - 1) * m * m * m;
  }
  return operations;
}

}  // namespace

NsOptions resolved(NsOptions options, const NsSlice& slice, int count) {
  if (options.algorithm == NsAlgorithm::kAuto) options.algorithm = by_products(slice, options, count);
  return options;
}

NsOptions resolved(NsOptions options, const NsShape& batch) {
  if (options.algorithm != NsAlgorithm::kAuto) return options;
  const NsSlice slice = whole_slice(batch.matrix);
  options = resolved(std::move(options), slice, batch.batch);
  if (options.algorithm == NsAlgorithm::kGemm) return options;
  NsOptions gram = options;
  gram.algorithm = NsAlgorithm::kGram;
  const auto by_syrk = static_cast<double>(ns_flops(batch.matrix, options));
  return kGramOverhead * gram_operations(slice, gram) < by_syrk ? gram : options;
}

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
  if (options.algorithm == NsAlgorithm::kAuto) return ns_flops(full, resolved(options, {full, 1}));
  const NsSlice slice = whole_slice(full);
  const std::int64_t square = symmetric_flops(slice.gram_side(), slice.gram_side(), options.algorithm);
  std::int64_t flops = 0;
  for (const NsStretch& stretch : ns_stretches(options)) {
    // One product with X to begin with and one in the end; what goes on with the Gram matrix is symmetric.
    flops += ns_part_flops(NsPart::kGram, slice, {}, options.algorithm) +
             ns_part_flops(NsPart::kStep, slice, {}, options.algorithm);
    for (int step = stretch.first; step < stretch.first + stretch.count; ++step)
      if (options.steps[static_cast<std::size_t>(step)].c != 0.0) flops += square;
    flops += square * 3 * (stretch.count - 1);
  }
  return flops;
}

std::vector<NsStretch> ns_stretches(const NsOptions& options) {
  MUONBENCH_CHECK(options.algorithm != NsAlgorithm::kAuto,
                  "steps of ns_algorithm auto, which is not resolved");
  const auto steps = static_cast<int>(options.steps.size());
  int most = 1;
  if (options.algorithm == NsAlgorithm::kGram)
    most = options.precision == MatmulPrecision::kHighest ? kMostStepsInFp32 : kMostStepsIn16Bits;
  const int count = (steps + most - 1) / most;
  std::vector<NsStretch> stretches;
  for (int i = 0, first = 0; i < count; first += stretches[static_cast<std::size_t>(i++)].count)
    stretches.push_back({first, static_cast<int>(even_part(steps, count, i))});
  return stretches;
}

Elements ns_scratch_elements(NsShape shape, const NsOptions& options) {
  const Elements one = ns_scratch_layout(shape.matrix, resolved(options, shape).algorithm).total;
  switch (options.batching) {
    case NsBatching::kInTurn: return one;
    case NsBatching::kTogether: return one * shape.batch;
  }
  return one;
}

NsScratchLayout ns_scratch_layout(Shape full, NsAlgorithm algorithm) {
  return ns_scratch_layout(whole_slice(full), algorithm);
}

NsScratchLayout ns_scratch_layout(const NsSlice& slice, NsAlgorithm algorithm) {
  const Elements iterate = aligned(slice.shape.elements().value());
  const Elements square = aligned(slice.gram_side() * slice.gram_side());
  const Elements more = algorithm == NsAlgorithm::kGram ? square : Elements(0);
  const Elements both = iterate * 2 + square * 2;
  return {.x = Elements(0),
          .next = iterate,
          .gram = iterate * 2,
          .poly = iterate * 2 + square,
          .product = both,
          .spare = both + more,
          .total = both + more * 2};
}

}  // namespace muonbench
