// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <cblas.h>

#include "src/backend/cpu/elementwise.h"
#include "src/base/check.h"
#include "src/ns/schedule.h"

namespace muonbench::cpu {
namespace {

// A norm below this is taken for this: an all-zero matrix stays zero.
constexpr double kSmallestNorm = 1e-15;

// The iterate X: (rows, cols), row-major, without gaps.
struct Iteration {
  int rows;
  int cols;
  bool tall;  // rows > cols: A = X^T X, else A = X X^T

  [[nodiscard]] int side() const { return tall ? cols : rows; }
  [[nodiscard]] int length() const { return tall ? rows : cols; }
};

// gram <- X X^T, or X^T X of a tall X.
void gram_by_gemm(const Iteration& it, const float* x, float* gram) {
  const int m = it.side();
  cblas_sgemm(CblasRowMajor, it.tall ? CblasTrans : CblasNoTrans, it.tall ? CblasNoTrans : CblasTrans, m, m,
              it.length(), 1.0F, x, it.cols, x, it.cols, 0.0F, gram, m);
}

void gram_by_syrk(const Iteration& it, const float* x, float* gram) {
  const int m = it.side();
  cblas_ssyrk(CblasRowMajor, CblasUpper, it.tall ? CblasTrans : CblasNoTrans, m, it.length(), 1.0F, x,
              it.cols, 0.0F, gram, m);
  mirror_upper_triangle(gram, m);
}

// poly <- poly + c * gram gram
void add_square_by_gemm(const Iteration& it, float c, const float* gram, float* poly) {
  const int m = it.side();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, c, gram, m, gram, m, 1.0F, poly, m);
}

void add_square_by_syrk(const Iteration& it, float c, const float* gram, float* poly) {
  const int m = it.side();
  cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, m, m, c, gram, m, 1.0F, poly, m);
  mirror_upper_triangle(poly, m);
}

// next <- next + poly X, or next + X poly of a tall X.
void add_poly_times_x(const Iteration& it, const float* poly, const float* x, float* next) {
  const int m = it.side();
  const float* left = it.tall ? x : poly;
  const float* right = it.tall ? poly : x;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, it.rows, it.cols, m, 1.0F, left,
              it.tall ? it.cols : m, right, it.cols, 1.0F, next, it.cols);
}

class NewtonSchulzKernel final : public Kernel {
 public:
  explicit NewtonSchulzKernel(BoundNewtonSchulz work)
      : work_(std::move(work)),
        iteration_{.rows = static_cast<int>(work_.matrix.rows),
                   .cols = static_cast<int>(work_.matrix.cols),
                   .tall = work_.matrix.rows > work_.matrix.cols},
        syrk_(work_.options.algorithm == NsAlgorithm::kSyrk),
        elements_(work_.matrix.elements().value()),
        gram_elements_(work_.matrix.min_dim() * work_.matrix.min_dim()),
        scale_(work_.scaling == NsScaling::kByNs ? ns_scale(work_.matrix, work_.options) : NsScale{}) {
    const NsScratchLayout layout = ns_scratch_layout(work_.matrix);
    auto* scratch = static_cast<float*>(work_.scratch);
    x_ = scratch + layout.x.value();
    next_ = scratch + layout.next.value();
    gram_ = scratch + layout.gram.value();
    poly_ = scratch + layout.poly.value();
  }

  void enqueue(Queue /*queue*/, const StepContext& /*context*/) override {
    for (const auto& [in, out] : work_.items) orthogonalize(in, out);
  }

 private:
  void orthogonalize(const float* in, float* out) {
    const double norm = std::sqrt(sum_of_squares(in, elements_));
    if (!std::isfinite(norm)) {
      std::fill_n(out, elements_, std::numeric_limits<float>::quiet_NaN());
      return;
    }
    float* x = x_;
    float* next = next_;
    scale_in_double(x, in, 1.0 / std::max(norm, kSmallestNorm), elements_);
    round_operand(x, elements_);
    for (const NsCoefficients& step : work_.options.steps) {
      run_step(step, x, next);
      std::swap(x, next);
    }
    scale_twice(out, x, scale_.factor, scale_.extra, elements_);
  }

  void run_step(const NsCoefficients& step, const float* x, float* next) {
    make_poly(step, x);
    // The epilogue a X is stored before the product is added: BLAS would do the same in a pass of its own.
    scale(next, x, static_cast<float>(step.a), elements_);
    add_poly_times_x(iteration_, poly_, x, next);
    round_operand(next, elements_);
  }

  // poly = b A + c A A
  void make_poly(const NsCoefficients& step, const float* x) {
    if (syrk_)
      gram_by_syrk(iteration_, x, gram_);
    else
      gram_by_gemm(iteration_, x, gram_);
    round_operand(gram_, gram_elements_);
    scale(poly_, gram_, static_cast<float>(step.b), gram_elements_);
    const auto c = static_cast<float>(step.c);
    if (c != 0.0F && syrk_) add_square_by_syrk(iteration_, c, gram_, poly_);
    if (c != 0.0F && !syrk_) add_square_by_gemm(iteration_, c, gram_, poly_);
    round_operand(poly_, gram_elements_);
  }

  void round_operand(float* matrix, std::int64_t n) const {
    if (work_.options.precision == MatmulPrecision::kMedium) round_to_bf16_values(matrix, n);
  }

  BoundNewtonSchulz work_;
  Iteration iteration_;
  bool syrk_;
  std::int64_t elements_;
  std::int64_t gram_elements_;
  NsScale scale_;
  float* x_ = nullptr;
  float* next_ = nullptr;
  float* gram_ = nullptr;
  float* poly_ = nullptr;
};

void refuse_unsupported(const NsOptions& options) {
  switch (options.precision) {
    case MatmulPrecision::kHighest:
    case MatmulPrecision::kMedium: break;
    case MatmulPrecision::kHigh:
      throw RuntimeFailure("Newton-Schulz on the CPU has no precision high (TF32)");
  }
  switch (options.algorithm) {
    case NsAlgorithm::kGemm:
    case NsAlgorithm::kSyrk: break;
    case NsAlgorithm::kGram: throw RuntimeFailure("Newton-Schulz on the CPU has no algorithm gram");
    case NsAlgorithm::kAuto:
      throw RuntimeFailure("Newton-Schulz on the CPU: algorithm auto must be resolved before it is prepared");
  }
}

}  // namespace

std::unique_ptr<Kernel> prepare_newton_schulz(BoundNewtonSchulz work) {
  refuse_unsupported(work.options);
  const Shape matrix = work.matrix;
  MUONBENCH_CHECK(matrix.rows > 0 && matrix.cols > 0, "matrix {} x {}", matrix.rows, matrix.cols);
  MUONBENCH_CHECK(!work.options.steps.empty(), "no NS steps");
  MUONBENCH_CHECK(work.items.empty() || work.scratch != nullptr, "no scratch");
  if (matrix.max_dim() > std::numeric_limits<int>::max())
    throw RuntimeFailure(
        text("Newton-Schulz on the CPU: BLAS takes dimensions up to {}, got a matrix of {} x {}",
             std::numeric_limits<int>::max(), matrix.rows, matrix.cols));
  return std::make_unique<NewtonSchulzKernel>(std::move(work));
}

}  // namespace muonbench::cpu
