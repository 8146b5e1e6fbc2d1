// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/newton_schulz.h"

#include <utility>
#include <vector>

#include "src/backend/cpu/elementwise.h"
#include "src/backend/cpu/ns_products.h"
#include "src/base/check.h"

namespace muonbench::cpu {
namespace {

class NewtonSchulzKernel final : public Kernel {
 public:
  explicit NewtonSchulzKernel(BoundNewtonSchulz work)
      : work_(std::move(work)),
        products_(whole_slice(work_.matrix), work_.options),
        stretches_(ns_stretches(work_.options)),
        scale_(work_.scaling == NsScaling::kByNs ? ns_scale(work_.matrix, work_.options) : NsScale{}) {
    MUONBENCH_CHECK(work_.items.empty() || work_.scratch != nullptr, "no scratch");
    const NsScratchLayout layout = ns_scratch_layout(work_.matrix, work_.options.algorithm);
    auto* scratch = static_cast<float*>(work_.scratch);
    x_ = scratch + layout.x.value();
    next_ = scratch + layout.next.value();
    gram_ = scratch + layout.gram.value();
    poly_ = scratch + layout.poly.value();
    product_ = scratch + layout.product.value();
    spare_ = scratch + layout.spare.value();
  }

  void enqueue(Queue /*queue*/, const StepContext& /*context*/) override {
    for (const auto& [in, out] : work_.items) orthogonalize(in, out);
  }

 private:
  void orthogonalize(const float* in, float* out) {
    float* x = x_;
    float* next = next_;
    products_.normalise(in, sum_of_squares(in, products_.elements()), x);
    for (const NsStretch& stretch : stretches_) {
      products_.make_gram(x, gram_);
      if (stretch.count == 1) {
        products_.make_poly(step(stretch.first), gram_, poly_);
        products_.make_next(step(stretch.first).a, poly_, x, next);
      } else {
        products_.make_next(0.0, factor(stretch), x, next);
      }
      std::swap(x, next);
    }
    products_.finish(x);
    scale_twice(out, x, scale_.factor, scale_.extra, products_.elements());
  }

  /// The steps of a stretch on the Gram matrix alone: what X is to be multiplied by.
  [[nodiscard]] const float* factor(const NsStretch& stretch) const {
    float* product = product_;
    float* spare = spare_;
    for (int i = 0; i < stretch.count; ++i) {
      const NsCoefficients& now = step(stretch.first + i);
      products_.make_poly(now, gram_, poly_);
      if (i == 0) {
        products_.add_identity(now.a, poly_, product);
      } else {
        products_.multiply_square(now.a, poly_, product, spare);
        std::swap(product, spare);
      }
      if (i + 1 == stretch.count) break;
      products_.multiply_square(now.a, poly_, gram_, spare);
      products_.multiply_square(now.a, poly_, spare, gram_);
    }
    return product;
  }

  [[nodiscard]] const NsCoefficients& step(int index) const {
    return work_.options.steps[static_cast<std::size_t>(index)];
  }

  BoundNewtonSchulz work_;
  NsProducts products_;
  std::vector<NsStretch> stretches_;
  NsScale scale_;
  float* x_ = nullptr;
  float* next_ = nullptr;
  float* gram_ = nullptr;
  float* poly_ = nullptr;
  float* product_ = nullptr;
  float* spare_ = nullptr;
};

/// The parts are functions of their data alone, so that a batch has the bits of its matrices taken alone.
class NsSliceKernel final : public Kernel {
 public:
  explicit NsSliceKernel(BoundNsSlice work)
      : work_(std::move(work)),
        products_(work_.slice, work_.options),
        layout_(ns_scratch_layout(work_.slice)),
        scale_(work_.scaling == NsScaling::kByNs ? ns_scale(work_.matrix, work_.options) : NsScale{}) {
    MUONBENCH_CHECK(work_.options.storage == DType::kFp32, "NS on the CPU keeps X in fp32");
    MUONBENCH_CHECK(work_.options.algorithm != NsAlgorithm::kGram,
                    "gram on slices, whose Gram matrices are added up at each step");
    MUONBENCH_CHECK(work_.step >= 0 && work_.step < std::ssize(work_.options.steps), "NS step {} of {}",
                    work_.step, work_.options.steps.size());
  }

  void enqueue(Queue /*queue*/, const StepContext& /*context*/) override {
    for (std::size_t i = 0; i < work_.data.size(); ++i) run(i);
  }

 private:
  void run(std::size_t i) const {
    float* const data = work_.data[i];
    switch (work_.part) {
      case NsPart::kSumOfSquares:
        work_.sums[i] = static_cast<float>(sum_of_squares(data, products_.elements()));
        break;
      case NsPart::kNormalise: products_.normalise(data, double{work_.sums[i]}, part(i, layout_.x)); break;
      case NsPart::kGram: products_.make_gram(iterate(i, work_.step), part(i, layout_.gram)); break;
      case NsPart::kStep: {
        const NsCoefficients& step = work_.options.steps[static_cast<std::size_t>(work_.step)];
        products_.make_poly(step, part(i, layout_.gram), part(i, layout_.poly));
        products_.make_next(step.a, part(i, layout_.poly), iterate(i, work_.step),
                            iterate(i, work_.step + 1));
        break;
      }
      case NsPart::kScaleOut:
        scale_twice(data, iterate(i, static_cast<int>(work_.options.steps.size())), scale_.factor,
                    scale_.extra, products_.elements());
        break;
    }
  }

  /// X before step `step`.
  [[nodiscard]] float* iterate(std::size_t i, int step) const {
    return part(i, step % 2 == 0 ? layout_.x : layout_.next);
  }
  [[nodiscard]] float* part(std::size_t i, Elements offset) const {
    const Elements begin = layout_.total * static_cast<std::int64_t>(i) + offset;
    return static_cast<float*>(work_.scratch) + begin.value();
  }

  BoundNsSlice work_;
  NsProducts products_;
  NsScratchLayout layout_;
  NsScale scale_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_newton_schulz(BoundNewtonSchulz work) {
  return std::make_unique<NewtonSchulzKernel>(std::move(work));
}

std::unique_ptr<Kernel> prepare_ns_slice(BoundNsSlice work) {
  return std::make_unique<NsSliceKernel>(std::move(work));
}

}  // namespace muonbench::cpu
