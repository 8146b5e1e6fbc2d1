// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/ns_products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <cblas.h>

#include "src/backend/cpu/elementwise.h"
#include "src/base/check.h"

namespace muonbench::cpu {
namespace {

// A norm below this is taken for this: an all-zero matrix stays zero.
constexpr double kSmallestNorm = 1e-15;

void refuse_unsupported(const NsSlice& slice, const NsOptions& options) {
  switch (options.precision) {
    case MatmulPrecision::kHighest:
    case MatmulPrecision::kMedium: break;
    case MatmulPrecision::kHigh:
      throw RuntimeFailure("Newton-Schulz on the CPU has no precision high (TF32)");
  }
  switch (options.algorithm) {
    case NsAlgorithm::kGemm:
    case NsAlgorithm::kSyrk:
    case NsAlgorithm::kGram: break;
    case NsAlgorithm::kAuto:
      throw RuntimeFailure("Newton-Schulz on the CPU: algorithm auto must be resolved before it is prepared");
  }
  const Shape matrix = slice.shape;
  MUONBENCH_CHECK(matrix.rows > 0 && matrix.cols > 0, "matrix {} x {}", matrix.rows, matrix.cols);
  MUONBENCH_CHECK(!options.steps.empty(), "no NS steps");
  if (matrix.max_dim() > std::numeric_limits<int>::max())
    throw RuntimeFailure(
        text("Newton-Schulz on the CPU: BLAS takes dimensions up to {}, got a matrix of {} x {}",
             std::numeric_limits<int>::max(), matrix.rows, matrix.cols));
}

}  // namespace

NsProducts::NsProducts(const NsSlice& slice, const NsOptions& options)
    : rows_(static_cast<int>(slice.shape.rows)),
      cols_(static_cast<int>(slice.shape.cols)),
      side_(slice.side),
      m_(static_cast<int>(slice.gram_side())),
      length_(static_cast<int>(slice.length())),
      halves_(takes_halves(options.algorithm)),
      rounding_(options.precision != MatmulPrecision::kMedium ? Rounding::kNone
                : options.algorithm == NsAlgorithm::kGram     ? Rounding::kFp16
                                                              : Rounding::kBf16),
      elements_(slice.shape.elements().value()),
      gram_elements_(slice.gram_side() * slice.gram_side()) {
  refuse_unsupported(slice, options);
}

void NsProducts::normalise(const float* in, double sum_of_squares, float* x) const {
  const double norm = std::sqrt(sum_of_squares);
  if (!std::isfinite(norm)) {
    std::fill_n(x, elements_, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  scale_in_double(x, in, 1.0 / std::max(norm, kSmallestNorm), elements_);
  round_operand(x, elements_);
}

void NsProducts::make_gram(const float* x, float* gram) const {
  if (halves_)
    gram_by_syrk(x, gram);
  else
    gram_by_gemm(x, gram);
  round_operand(gram, gram_elements_);
}

void NsProducts::make_poly(const NsCoefficients& step, const float* gram, float* poly) const {
  scale(poly, gram, static_cast<float>(step.b), gram_elements_);
  const auto c = static_cast<float>(step.c);
  if (c != 0.0F && halves_) add_square_by_syrk(c, gram, poly);
  if (c != 0.0F && !halves_) add_square_by_gemm(c, gram, poly);
  round_operand(poly, gram_elements_);
}

void NsProducts::make_next(double a, const float* poly, const float* x, float* next) const {
  // The epilogue a X is stored before the product is added: BLAS would do the same in a pass of its own.
  if (a != 0.0) scale(next, x, static_cast<float>(a), elements_);
  const bool by_rows = side_ == GramSide::kRows;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows_, cols_, m_, 1.0F, by_rows ? poly : x,
              by_rows ? m_ : cols_, by_rows ? x : poly, cols_, a == 0.0 ? 0.0F : 1.0F, next, cols_);
  round_operand(next, elements_);
}

void NsProducts::gram_by_gemm(const float* x, float* gram) const {
  const bool by_rows = side_ == GramSide::kRows;
  cblas_sgemm(CblasRowMajor, by_rows ? CblasNoTrans : CblasTrans, by_rows ? CblasTrans : CblasNoTrans, m_, m_,
              length_, 1.0F, x, cols_, x, cols_, 0.0F, gram, m_);
}

void NsProducts::gram_by_syrk(const float* x, float* gram) const {
  cblas_ssyrk(CblasRowMajor, CblasUpper, side_ == GramSide::kRows ? CblasNoTrans : CblasTrans, m_, length_,
              1.0F, x, cols_, 0.0F, gram, m_);
  mirror_upper_triangle(gram, m_);
}

void NsProducts::add_square_by_gemm(float c, const float* gram, float* poly) const {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, m_, m_, c, gram, m_, gram, m_, 1.0F, poly, m_);
}

void NsProducts::add_square_by_syrk(float c, const float* gram, float* poly) const {
  cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, m_, m_, c, gram, m_, 1.0F, poly, m_);
  mirror_upper_triangle(poly, m_);
}

void NsProducts::multiply_square(double a, const float* poly, const float* m, float* out) const {
  scale(out, m, static_cast<float>(a), gram_elements_);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, m_, m_, 1.0F, poly, m_, m, m_, 1.0F, out, m_);
  // Symmetric but for the order of sums; kept so, as products that are not would drift.
  mirror_upper_triangle(out, m_);
  round_operand(out, gram_elements_);
}

void NsProducts::add_identity(double a, const float* poly, float* out) const {
  add_to_diagonal(out, poly, static_cast<float>(a), m_);
  round_operand(out, gram_elements_);
}

void NsProducts::finish(float* x) const {
  if (rounding_ == Rounding::kFp16) round_to_bf16_values(x, elements_);
}

void NsProducts::round_operand(float* matrix, std::int64_t n) const {
  switch (rounding_) {
    case Rounding::kNone: return;
    case Rounding::kBf16: round_to_bf16_values(matrix, n); return;
    case Rounding::kFp16: round_to_fp16_values(matrix, n); return;
  }
}

}  // namespace muonbench::cpu
