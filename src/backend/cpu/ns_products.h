// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/ns/ns_slice.h"

namespace muonbench::cpu {

/// What NS does with one slice, by BLAS. The iterate X is row-major, without gaps. Under precision medium
/// everything that is stored is rounded to bf16 values, under gram to fp16 ones, in fp32 storage; products
/// accumulate in fp32.
class NsProducts {
 public:
  /// Throws RuntimeFailure for what there is no kernel for: precision high, algorithm auto, a dimension
  /// beyond the int of BLAS, an empty slice, a schedule without steps.
  NsProducts(const NsSlice& slice, const NsOptions& options);

  /// x <- in / max(norm, smallest norm), the quotient taken in double; NaN throughout unless the norm, the
  /// root of `sum_of_squares`, is finite. x may be in.
  void normalise(const float* in, double sum_of_squares, float* x) const;
  /// gram <- X X^T, or X^T X.
  void make_gram(const float* x, float* gram) const;
  /// poly <- b A + c A A
  void make_poly(const NsCoefficients& step, const float* gram, float* poly) const;
  /// next <- a X + B X, or a X + X B; a is 0 for a B that holds it.
  void make_next(double a, const float* poly, const float* x, float* next) const;
  /// out <- a M + B M, of matrices like A that commute: symmetric. poly, m and out are three.
  void multiply_square(double a, const float* poly, const float* m, float* out) const;
  /// out <- B + a I
  void add_identity(double a, const float* poly, float* out) const;
  /// What NS ends in: under gram in medium X is rounded to bf16.
  void finish(float* x) const;

  [[nodiscard]] std::int64_t elements() const { return elements_; }

 private:
  enum class Rounding { kNone, kBf16, kFp16 };
  void gram_by_gemm(const float* x, float* gram) const;
  void gram_by_syrk(const float* x, float* gram) const;
  void add_square_by_gemm(float c, const float* gram, float* poly) const;
  void add_square_by_syrk(float c, const float* gram, float* poly) const;
  void round_operand(float* matrix, std::int64_t n) const;

  int rows_, cols_;
  GramSide side_;
  int m_;        ///< side of A and B
  int length_;   ///< over which A sums
  bool halves_;  ///< one triangle of symmetric products
  Rounding rounding_;
  std::int64_t elements_, gram_elements_;
};

}  // namespace muonbench::cpu
