// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/ns_products.h"

#include <utility>

#include "src/backend/cuda/multipliers.h"
#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

void refuse_unsupported(const CudaDevice& device, const NsOptions& options, int count) {
  const Capabilities can = device.capabilities();
  switch (options.algorithm) {
    case NsAlgorithm::kGemm: break;
    case NsAlgorithm::kSyrk:
      if (can.syrk) break;
      throw RuntimeFailure(text("NS on {}: expected ns_algorithm gemm, got syrk", can.device_name));
    case NsAlgorithm::kGram:
      if (can.gram) break;
      throw RuntimeFailure(text("NS on {}: expected ns_algorithm gemm, got gram", can.device_name));
    case NsAlgorithm::kAuto:
      throw RuntimeFailure("NS on cuda: ns_algorithm auto must be resolved before it is prepared");
  }
  const DType storage = options.precision == MatmulPrecision::kMedium ? can.medium_storage : DType::kFp32;
  MUONBENCH_CHECK(options.storage == storage && options.batching == can.batching,
                  "NS was planned for another device: {} B an element of X, expected {}, or another batching",
                  size_of(options.storage).value(), size_of(storage).value());
  MUONBENCH_CHECK(count <= kMostTogether, "{} matrices in a batch, at most {} expected", count,
                  kMostTogether);
}

}  // namespace

NsProducts::NsProducts(CudaDevice& device, Multipliers& multipliers, const NsSlice& slice,
                       const NsOptions& options, void* scratch, int count)
    : device_(device),
      multipliers_(multipliers),
      slice_(slice),
      steps_(options.steps),
      stretches_(ns_stretches(options)),
      layout_(ns_scratch_layout(slice, options.algorithm)),
      halves_(takes_halves(options.algorithm)),
      storage_(options.storage),
      number_(number_of(options)),
      scratch_(scratch),
      count_(count) {
  refuse_unsupported(device, options, count);
  const bool by_rows = slice.side == GramSide::kRows;
  const auto [rows, cols] = slice.shape;
  const std::int64_t side = slice.gram_side();
  Product product{
      .precision = options.precision, .number = number_, .stride = layout_.total.value(), .batch = count};
  product.m = product.n = product.ldd = side;
  product.k = slice.length();
  product.lda = product.ldb = cols;
  product.transpose_a = by_rows;
  product.transpose_b = !by_rows;
  const auto square = [&](const NsSlice& x) {
    const SymmetricProduct half{x, product.stride, count, number_};
    if (halves_ && SymmetricMatmul::takes(half)) return Square{.half = &multipliers.symmetric.plan(half)};
    return Square{.whole = &multipliers.general.plan(product)};
  };
  gram_ = square(slice);
  product.transpose_a = product.transpose_b = false;
  product.addend = Addend::kC;
  product.k = product.lda = product.ldb = side;
  squares_ = square({{side, side}, GramSide::kRows});
  product.m = product.ldd = cols;
  product.n = rows;
  product.lda = by_rows ? cols : side;  // X, else B
  product.ldb = by_rows ? side : cols;
  // The polynomial of a Gram matrix: symmetric, but for rounding where ranks have added the Gram matrix up.
  product.symmetric_b = by_rows;
  next_ = &multipliers.general.plan(product);
  if (options.algorithm != NsAlgorithm::kGram) return;
  product.addend = Addend::kNone;
  product_ = &multipliers.general.plan(product);
}

NsBatch NsProducts::iterate(int stretch) const {
  return batch_of(part(stretch % 2 == 0 ? layout_.x : layout_.next), slice_.shape.elements().value());
}

void NsProducts::enqueue(const Square& square, const SquareOperands& o, Queue queue) const {
  const cudaStream_t stream = device_.stream(queue);
  if (square.half != nullptr) {
    multipliers_.symmetric.enqueue(
        *square.half, {.x = o.x, .y = o.y, .c = o.addend, .d = o.out, .alpha = o.alpha, .beta = o.beta},
        stream);
    return;
  }
  multipliers_.general.enqueue(
      *square.whole, {.a = o.x, .b = o.y, .c = o.addend, .d = o.out, .alpha = o.alpha, .beta = o.beta},
      device_.workspace(queue), stream);
  if (halves_) launch_mirror(square_at(o.out), slice_.gram_side(), stream);
}

void NsProducts::enqueue_gram(int stretch, Queue queue) const {
  void* x = iterate(stretch).x;
  void* gram = part(layout_.gram);
  enqueue(gram_, {x, x, gram, gram, 1.0F, 0.0F}, queue);
}

void NsProducts::enqueue_stretch(int stretch, Queue queue) const {
  const NsStretch& steps = stretches_[static_cast<std::size_t>(stretch)];
  const bool alone = steps.count == 1;
  void* factor = part(layout_.poly);
  if (alone)
    enqueue_poly(step(steps.first), queue);
  else
    factor = enqueue_factor(steps, queue);
  const void* x = iterate(stretch).x;
  const bool by_rows = slice_.side == GramSide::kRows;
  multipliers_.general.enqueue(alone ? *next_ : *product_,
                               {.a = by_rows ? x : factor,
                                .b = by_rows ? factor : x,
                                .c = x,
                                .d = iterate(stretch + 1).x,
                                .alpha = 1.0F,
                                .beta = alone ? static_cast<float>(step(steps.first).a) : 0.0F},
                               device_.workspace(queue), device_.stream(queue));
}

void NsProducts::enqueue_poly(const NsCoefficients& step, Queue queue) const {
  void* gram = part(layout_.gram);
  void* poly = part(layout_.poly);
  const auto b = static_cast<float>(step.b), c = static_cast<float>(step.c);
  if (c == 0.0F)
    launch_scaled_copy(square_at(gram), poly, b, device_.stream(queue));
  else
    enqueue(squares_, {gram, gram, gram, poly, c, b}, queue);
}

void NsProducts::enqueue_times_step(void* m, double a, void* out, Queue queue) const {
  enqueue(squares_, {part(layout_.poly), m, m, out, 1.0F, static_cast<float>(a)}, queue);
}

void* NsProducts::enqueue_factor(const NsStretch& stretch, Queue queue) const {
  void* gram = part(layout_.gram);
  void* product = part(layout_.product);
  void* spare = part(layout_.spare);
  for (int i = 0; i < stretch.count; ++i) {
    const NsCoefficients& now = step(stretch.first + i);
    enqueue_poly(now, queue);
    if (i == 0) {
      launch_add_to_diagonal(square_at(part(layout_.poly)), slice_.gram_side(), product,
                             static_cast<float>(now.a), device_.stream(queue));
    } else {
      enqueue_times_step(product, now.a, spare, queue);
      std::swap(product, spare);
    }
    if (i + 1 == stretch.count) break;
    enqueue_times_step(gram, now.a, spare, queue);
    enqueue_times_step(spare, now.a, gram, queue);
  }
  return product;
}

const NsCoefficients& NsProducts::step(int index) const { return steps_[static_cast<std::size_t>(index)]; }

void* NsProducts::part(Elements offset) const {
  return static_cast<std::byte*>(scratch_) + bytes_of(offset, storage_).value();
}

NsBatch NsProducts::batch_of(void* first, std::int64_t elements) const {
  return {
      .x = first, .number = number_, .elements = elements, .stride = layout_.total.value(), .count = count_};
}

NsBatch NsProducts::square_at(void* first) const {
  return batch_of(first, slice_.gram_side() * slice_.gram_side());
}

}  // namespace muonbench::cuda
