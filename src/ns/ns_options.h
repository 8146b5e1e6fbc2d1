// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/shape.h"

namespace muonbench {

/// Arithmetic of the NS products. highest: fp32. high: TF32 tensor cores, X kept fp32 (CUDA only).
/// medium: 16-bit operands and results, fp32 accumulation and epilogue: bf16, but under gram fp16, and bf16
/// in the end.
enum class MatmulPrecision { kHighest, kHigh, kMedium };

/// How NS is computed. gemm: all products in full. syrk: of symmetric ones one triangle, mirrored. gram: so
/// too, and X is multiplied once for some steps, between which the Gram matrix itself is iterated
/// (ns_stretches). auto: the cheapest for the shape.
enum class NsAlgorithm { kGemm, kSyrk, kGram, kAuto };
inline constexpr std::size_t kNsAlgorithmsThatRun = 3;  ///< all but auto, which comes last

/// Whether of symmetric products one triangle is computed, where there are kernels for it.
[[nodiscard]] constexpr bool takes_halves(NsAlgorithm algorithm) {
  return algorithm == NsAlgorithm::kSyrk || algorithm == NsAlgorithm::kGram;
}

/// Factor on the orthogonalised matrix, from the true full (rows r, cols q):
/// spectral sqrt(max(r, q)); shape_scaling sqrt(max(1, r/q)); unit_rms_norm sqrt(r/q).
enum class ScaleMode { kSpectral, kUnitRmsNorm, kShapeScaling };

/// Whether the matrices of a batch are worked on one after the other, all in the scratch of one, or together,
/// each in a scratch of its own.
enum class NsBatching { kInTurn, kTogether };

/// The most matrices that are worked on together: the second dimension of a CUDA grid.
inline constexpr int kMostTogether = 65535;

/// One NS step: A = X X^T, B = b A + c A A, X <- a X + B X.
struct NsCoefficients {
  double a = 0.0;
  double b = 0.0;
  double c = 0.0;
  friend bool operator==(const NsCoefficients&, const NsCoefficients&) = default;
};

/// What an orthogonalised matrix is multiplied by: two fp32 products, each rounded, in this order.
struct NsScale {
  float factor = 1.0F;  ///< of the scale mode
  float extra = 1.0F;
  friend bool operator==(const NsScale&, const NsScale&) = default;
};

/// Where that is done: by NS itself, or by whoever receives a part of the matrix.
enum class NsScaling { kByNs, kByReceiver };

/// Everything that decides the bits of one orthogonalisation; the same for every matrix of a run, but for
/// what auto stands for.
struct NsOptions {
  std::vector<NsCoefficients> steps;  ///< the resolved schedule, one entry per NS step
  MatmulPrecision precision = MatmulPrecision::kMedium;
  NsAlgorithm algorithm = NsAlgorithm::kGemm;
  ScaleMode scale_mode = ScaleMode::kSpectral;
  double extra_scale_factor = 1.0;
  /// Of X, its Gram matrix and polynomials between products; under gram the 16 bits of bf16 are those of
  /// fp16.
  DType storage = DType::kFp32;
  NsBatching batching = NsBatching::kInTurn;
};

/// `batch` matrices of one shape, orthogonalised by one kernel.
struct NsShape {
  Shape matrix;
  int batch = 1;
  friend auto operator<=>(const NsShape&, const NsShape&) = default;
};

}  // namespace muonbench
