// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/ns_products.h"

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
    case NsAlgorithm::kAuto: throw RuntimeFailure("NS on cuda: expected ns_algorithm gemm or syrk");
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
      layout_(ns_scratch_layout(slice)),
      syrk_(options.algorithm == NsAlgorithm::kSyrk),
      storage_(options.storage),
      scratch_(scratch),
      count_(count) {
  refuse_unsupported(device, options, count);
  const bool by_rows = slice.side == GramSide::kRows;
  const auto [rows, cols] = slice.shape;
  const std::int64_t side = slice.gram_side();
  Product product{.precision = options.precision,
                  .storage = options.storage,
                  .stride = layout_.total.value(),
                  .batch = count};
  product.m = product.n = product.ldd = side;
  product.k = slice.length();
  product.lda = product.ldb = cols;
  product.transpose_a = by_rows;
  product.transpose_b = !by_rows;
  const auto square = [&](const NsSlice& x) {
    const SymmetricProduct half{x, product.stride, count};
    if (syrk_ && product.storage == DType::kBf16 && SymmetricMatmul::takes(half))
      return Square{.half = &multipliers.symmetric.plan(half)};
    return Square{.whole = &multipliers.general.plan(product)};
  };
  gram_ = square(slice);
  product.transpose_a = product.transpose_b = false;
  product.addend = Addend::kC;
  product.k = product.lda = product.ldb = side;
  poly_ = square({{side, side}, GramSide::kRows});
  product.m = product.ldd = cols;
  product.n = rows;
  product.lda = by_rows ? cols : side;  // X, else B
  product.ldb = by_rows ? side : cols;
  // The polynomial of a Gram matrix: symmetric, but for rounding where ranks have added the Gram matrix up.
  product.symmetric_b = by_rows;
  next_ = &multipliers.general.plan(product);
}

NsBatch NsProducts::iterate(int step) const {
  return batch_of(part(step % 2 == 0 ? layout_.x : layout_.next), slice_.shape.elements().value());
}

void NsProducts::enqueue(const Square& square, const SquareOperands& o, Queue queue) const {
  const cudaStream_t stream = device_.stream(queue);
  if (square.half != nullptr) {
    multipliers_.symmetric.enqueue(
        *square.half, {.x = o.x, .c = o.addend, .d = o.out, .alpha = o.alpha, .beta = o.beta}, stream);
    return;
  }
  multipliers_.general.enqueue(
      *square.whole, {.a = o.x, .b = o.x, .c = o.addend, .d = o.out, .alpha = o.alpha, .beta = o.beta},
      device_.workspace(queue), stream);
  if (syrk_)
    launch_mirror(batch_of(o.out, slice_.gram_side() * slice_.gram_side()), slice_.gram_side(), stream);
}

void NsProducts::enqueue_gram(int step, Queue queue) const {
  void* gram = part(layout_.gram);
  enqueue(gram_, {iterate(step).x, gram, gram, 1.0F, 0.0F}, queue);
}

void NsProducts::enqueue_step(int step, const NsCoefficients& coefficients, Queue queue) const {
  const cudaStream_t stream = device_.stream(queue);
  void* gram = part(layout_.gram);
  void* poly = part(layout_.poly);
  const auto a = static_cast<float>(coefficients.a), b = static_cast<float>(coefficients.b),
             c = static_cast<float>(coefficients.c);
  if (c == 0.0F)
    launch_scaled_copy(batch_of(gram, slice_.gram_side() * slice_.gram_side()), poly, b, stream);
  else
    enqueue(poly_, {gram, gram, poly, c, b}, queue);
  const void* x = iterate(step).x;
  const bool by_rows = slice_.side == GramSide::kRows;
  multipliers_.general.enqueue(*next_,
                               {.a = by_rows ? x : poly,
                                .b = by_rows ? poly : x,
                                .c = x,
                                .d = iterate(step + 1).x,
                                .alpha = 1.0F,
                                .beta = a},
                               device_.workspace(queue), stream);
}

void* NsProducts::part(Elements offset) const {
  return static_cast<std::byte*>(scratch_) + bytes_of(offset, storage_).value();
}

NsBatch NsProducts::batch_of(void* first, std::int64_t elements) const {
  return {.x = first,
          .storage = storage_,
          .elements = elements,
          .stride = layout_.total.value(),
          .count = count_};
}

}  // namespace muonbench::cuda
