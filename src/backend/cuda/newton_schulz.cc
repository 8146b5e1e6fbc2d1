// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/newton_schulz.h"

#include <utility>
#include <vector>

#include "src/backend/cuda/matmul.h"
#include "src/backend/cuda/ns_kernels.h"
#include "src/base/check.h"
#include "src/ns/schedule.h"

namespace muonbench::cuda {
namespace {

// Below this many operations a GPU is done before a host has launched the next kernel: about a millisecond.
constexpr double kLaunchBoundFlops = 1e12;

/// The three products of a step. cuBLAS is column-major: it sees X (P, Q) as its transpose (Q, P), leading
/// dimension Q, and A and B, row-major too, as theirs.
struct StepProducts {
  const MatmulPlan* gram;  ///< A = X X^T, or X^T X of a tall X
  const MatmulPlan* poly;  ///< b A + c A A
  const MatmulPlan* next;  ///< a X + B X, or a X + X B
};

StepProducts plan_products(Matmul& matmul, const BoundNewtonSchulz& work, std::int64_t stride) {
  const auto [rows, cols] = work.matrix;
  const bool tall = rows > cols;
  const std::int64_t side = work.matrix.min_dim(), length = work.matrix.max_dim();
  Product product{.precision = work.options.precision,
                  .storage = work.options.storage,
                  .stride = stride,
                  .batch = static_cast<int>(work.items.size())};
  product.m = product.n = product.ldd = side;
  product.k = length;
  product.lda = product.ldb = cols;
  product.transpose_a = !tall;
  product.transpose_b = tall;
  StepProducts products{};
  products.gram = &matmul.plan(product);
  product.transpose_a = product.transpose_b = false;
  product.addend = Addend::kC;
  product.k = product.lda = product.ldb = side;
  products.poly = &matmul.plan(product);
  product.m = product.ldd = cols;
  product.n = rows;
  product.lda = tall ? side : cols;  // B of a tall X, else X
  product.ldb = tall ? cols : side;
  products.next = &matmul.plan(product);
  return products;
}

void refuse_unsupported(const CudaDevice& device, const BoundNewtonSchulz& work) {
  const NsOptions& options = work.options;
  if (options.algorithm != NsAlgorithm::kGemm) throw RuntimeFailure("NS on cuda: expected ns_algorithm gemm");
  const Capabilities can = device.capabilities();
  const DType storage = options.precision == MatmulPrecision::kMedium ? can.medium_storage : DType::kFp32;
  MUONBENCH_CHECK(options.storage == storage && options.batching == can.batching,
                  "NS was planned for another device: {} B an element of X, expected {}, or another batching",
                  size_of(options.storage).value(), size_of(storage).value());
  MUONBENCH_CHECK(std::ssize(work.items) <= kMostTogether, "{} matrices in a batch, at most {} expected",
                  work.items.size(), kMostTogether);
}

class NewtonSchulzKernel final : public Kernel {
 public:
  NewtonSchulzKernel(CudaDevice& device, Matmul& matmul, BoundNewtonSchulz work)
      : device_(device),
        matmul_(matmul),
        work_(std::move(work)),
        layout_(ns_scratch_layout(work_.matrix)),
        products_(plan_products(matmul, work_, layout_.total.value())),
        scale_(work_.scaling == NsScaling::kByNs ? ns_scale(work_.matrix, work_.options) : NsScale{}),
        launch_bound_(static_cast<double>(ns_flops(work_.matrix, work_.options)) *
                          static_cast<double>(work_.items.size()) <
                      kLaunchBoundFlops) {
    std::vector<const float*> in;
    std::vector<float*> out;
    for (const auto& [from, to] : work_.items) {
      in.push_back(from);
      out.push_back(to);
    }
    in_ = device.make_table(in);
    out_ = device.make_table(out);
    norm_parts_ = device.make_table(std::vector<double>(
        in.size() * static_cast<std::size_t>(norm_parts(work_.matrix.elements().value()))));
  }

  void make_ready(Queue queue) override {
    // The graph holds the workspace of the queue on which it was recorded.
    const bool recorded = graph_ && queue.index == recorded_on_.index;
    if (launch_bound_ && !recorded && !work_.items.empty()) record(queue);
  }

  void enqueue(Queue queue, const StepContext& /*context*/) override {
    if (work_.items.empty()) return;
    if (!launch_bound_) {
      launch_all(queue);
      return;
    }
    make_ready(queue);
    MUONBENCH_CUDA(cudaGraphLaunch(graph_.get(), device_.stream(queue)));
  }

 private:
  void record(Queue queue) {
    const cudaStream_t stream = device_.stream(queue);
    MUONBENCH_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_all(queue);
    cudaGraph_t graph = nullptr;
    MUONBENCH_CUDA(cudaStreamEndCapture(stream, &graph));
    const Owned<cudaGraph_t, cudaGraphDestroy> recorded(graph);
    cudaGraphExec_t ready = nullptr;
    MUONBENCH_CUDA(cudaGraphInstantiate(&ready, graph, 0));
    graph_ = OwnedGraphExec(ready);
    recorded_on_ = queue;
    MUONBENCH_CUDA(cudaGraphUpload(ready, stream));
  }

  void launch_all(Queue queue) const {
    const cudaStream_t stream = device_.stream(queue);
    void* x = part(layout_.x);
    void* next = part(layout_.next);
    launch_normalise(in_.as<const float* const>(), norm_parts_.as<double>(), batch_at(x), stream);
    for (const NsCoefficients& step : work_.options.steps) {
      launch_step(step, x, next, queue);
      std::swap(x, next);
    }
    launch_scale_out(out_.as<float* const>(), batch_at(x), scale_.factor, scale_.extra, stream);
  }

  void launch_step(const NsCoefficients& step, void* x, void* next, Queue queue) const {
    const bool tall = work_.matrix.rows > work_.matrix.cols;
    void* gram = part(layout_.gram);
    void* poly = part(layout_.poly);
    multiply(*products_.gram, {.a = x, .b = x, .c = gram, .d = gram}, queue);
    const auto b = static_cast<float>(step.b), c = static_cast<float>(step.c);
    if (c == 0.0F)
      launch_scaled_copy(square_batch(gram), poly, b, device_.stream(queue));
    else
      multiply(*products_.poly, {.a = gram, .b = gram, .c = gram, .d = poly, .alpha = c, .beta = b}, queue);
    multiply(*products_.next,
             {.a = tall ? poly : x,
              .b = tall ? x : poly,
              .c = x,
              .d = next,
              .alpha = 1.0F,
              .beta = static_cast<float>(step.a)},
             queue);
  }

  void multiply(const MatmulPlan& plan, const Matmul::Operands& operands, Queue queue) const {
    matmul_.enqueue(plan, operands, device_.workspace(queue), device_.stream(queue));
  }

  [[nodiscard]] void* part(Elements offset) const {
    return static_cast<std::byte*>(work_.scratch) + bytes_of(offset, work_.options.storage).value();
  }
  [[nodiscard]] NsBatch batch_at(void* x) const { return batch_of(x, work_.matrix.elements().value()); }
  [[nodiscard]] NsBatch square_batch(void* square) const {
    return batch_of(square, work_.matrix.min_dim() * work_.matrix.min_dim());
  }
  [[nodiscard]] NsBatch batch_of(void* first, std::int64_t elements) const {
    return {.x = first,
            .storage = work_.options.storage,
            .elements = elements,
            .stride = layout_.total.value(),
            .count = static_cast<int>(work_.items.size())};
  }

  CudaDevice& device_;
  Matmul& matmul_;
  BoundNewtonSchulz work_;
  NsScratchLayout layout_;
  StepProducts products_;
  NsScale scale_;
  bool launch_bound_;
  DeviceTable in_, out_, norm_parts_;
  OwnedGraphExec graph_;
  Queue recorded_on_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_newton_schulz(CudaDevice& device, Matmul& matmul, BoundNewtonSchulz work) {
  refuse_unsupported(device, work);
  return std::make_unique<NewtonSchulzKernel>(device, matmul, std::move(work));
}

}  // namespace muonbench::cuda
