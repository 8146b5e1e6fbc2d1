// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/gemm_only.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tests/bench/in_turn.h"
#include <cublasLt.h>
#include <cublas_v2.h>

#include "src/backend/cuda/cuda_check.h"
#include "src/backend/cuda/cuda_resources.h"
#include "src/base/check.h"

namespace muonbench {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20U;

template <auto kDestroy>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    MUONBENCH_CUDA_NOEXCEPT(kDestroy(handle));
  }
};
using Blas = std::unique_ptr<cublasContext, Destroy<cublasDestroy>>;
using BlasLt = std::unique_ptr<cublasLtContext, Destroy<cublasLtDestroy>>;
using MatmulDesc = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;

/// A batch of matrices one behind the other, column-major as cuBLAS has it.
struct Operand {
  void* data;
  std::int64_t rows, cols;
};
/// d = alpha op(a) op(b)
struct Product {
  cublasOperation_t op_a, op_b;
  Operand a, b, d;
  float alpha;
  int batch;

  [[nodiscard]] std::int64_t inner() const { return op_a == CUBLAS_OP_N ? a.cols : a.rows; }
};

/// The memory of one set.
struct Matrices {
  Buffer x, gram, poly, next;

  Matrices(Device& device, NsShape shape, std::uint64_t seed) {
    const Shape all{shape.matrix.rows * shape.batch, shape.matrix.cols};
    const Elements square(shape.matrix.min_dim() * shape.matrix.min_dim() * shape.batch);
    x = random_array(device, all, DType::kBf16, seed);
    next = device.allocate(bytes_of(all.elements(), DType::kBf16), MemoryUse::kNsScratch);
    gram = device.allocate(bytes_of(square, DType::kBf16), MemoryUse::kNsScratch);
    poly = device.allocate(bytes_of(square, DType::kBf16), MemoryUse::kNsScratch);
  }

  /// A row-major P x Q matrix is a column-major Q x P one; the short side is the Gram matrix's.
  [[nodiscard]] std::array<Product, 3> products(NsShape shape) const {
    const std::int64_t m = shape.matrix.min_dim();
    const bool wide = shape.matrix.rows <= shape.matrix.cols;
    const Operand in{x.data(), shape.matrix.cols, shape.matrix.rows};
    const Operand out{next.data(), shape.matrix.cols, shape.matrix.rows};
    const Operand a{gram.data(), m, m}, b{poly.data(), m, m};
    const float scale = 1.0F / static_cast<float>(shape.matrix.max_dim());
    return {Product{wide ? CUBLAS_OP_T : CUBLAS_OP_N, wide ? CUBLAS_OP_N : CUBLAS_OP_T, in, in, a, scale,
                    shape.batch},
            Product{CUBLAS_OP_N, CUBLAS_OP_N, a, a, b, 1.0F, shape.batch},
            Product{CUBLAS_OP_N, CUBLAS_OP_N, wide ? in : b, wide ? b : in, out, 1.0F, shape.batch}};
  }
};

Layout layout_of(const Operand& operand, int batch) {
  cublasLtMatrixLayout_t made = nullptr;
  MUONBENCH_CUDA(cublasLtMatrixLayoutCreate(&made, CUDA_R_16BF, static_cast<std::uint64_t>(operand.rows),
                                            static_cast<std::uint64_t>(operand.cols), operand.rows));
  Layout layout(made);
  const std::int64_t stride = operand.rows * operand.cols;
  MUONBENCH_CUDA(
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
  MUONBENCH_CUDA(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                  sizeof stride));
  return layout;
}

}  // namespace

std::string_view name_of(GemmLibrary library) {
  switch (library) {
    case GemmLibrary::kLt: return "cublasLtMatmul";
    case GemmLibrary::kStridedBatched: return "cublasGemmStridedBatchedEx";
  }
  return "";
}

struct GemmOnly::State {
  Blas blas;
  BlasLt lt;
  Buffer workspace;
  std::vector<Matrices> sets;
  std::vector<cuda::OwnedGraphExec> graphs;
  cuda::OwnedStream stream = cuda::make_stream();
  cuda::OwnedEvent begin = cuda::make_timed_event(), end = cuda::make_timed_event();
  std::size_t turn = 0;

  explicit State(Device& device) : workspace(device.allocate(Bytes(kWorkspaceBytes), MemoryUse::kNsScratch)) {
    cublasHandle_t blas_made = nullptr;
    MUONBENCH_CUDA(cublasCreate(&blas_made));
    blas.reset(blas_made);
    MUONBENCH_CUDA(cublasSetStream(blas_made, stream.get()));
    MUONBENCH_CUDA(cublasSetWorkspace(blas_made, workspace.data(), kWorkspaceBytes));
    cublasLtHandle_t lt_made = nullptr;
    MUONBENCH_CUDA(cublasLtCreate(&lt_made));
    lt.reset(lt_made);
  }

  void multiply(const Product& p) const {
    const float beta = 0.0F;
    const auto narrow = [](std::int64_t n) { return static_cast<int>(n); };
    MUONBENCH_CUDA(cublasGemmStridedBatchedEx(
        blas.get(), p.op_a, p.op_b, narrow(p.d.rows), narrow(p.d.cols), narrow(p.inner()), &p.alpha, p.a.data,
        CUDA_R_16BF, narrow(p.a.rows), p.a.rows * p.a.cols, p.b.data, CUDA_R_16BF, narrow(p.b.rows),
        p.b.rows * p.b.cols, &beta, p.d.data, CUDA_R_16BF, narrow(p.d.rows), p.d.rows * p.d.cols, p.batch,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

  void multiply_lt(const Product& p) const {
    cublasLtMatmulDesc_t desc_made = nullptr;
    MUONBENCH_CUDA(cublasLtMatmulDescCreate(&desc_made, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const MatmulDesc desc(desc_made);
    MUONBENCH_CUDA(
        cublasLtMatmulDescSetAttribute(desc_made, CUBLASLT_MATMUL_DESC_TRANSA, &p.op_a, sizeof p.op_a));
    MUONBENCH_CUDA(
        cublasLtMatmulDescSetAttribute(desc_made, CUBLASLT_MATMUL_DESC_TRANSB, &p.op_b, sizeof p.op_b));
    const Layout a = layout_of(p.a, p.batch), b = layout_of(p.b, p.batch), d = layout_of(p.d, p.batch);
    cublasLtMatmulPreference_t preference_made = nullptr;
    MUONBENCH_CUDA(cublasLtMatmulPreferenceCreate(&preference_made));
    const Preference preference(preference_made);
    MUONBENCH_CUDA(cublasLtMatmulPreferenceSetAttribute(
        preference_made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof kWorkspaceBytes));
    cublasLtMatmulHeuristicResult_t choice{};
    int found = 0;
    MUONBENCH_CUDA(cublasLtMatmulAlgoGetHeuristic(lt.get(), desc_made, a.get(), b.get(), d.get(), d.get(),
                                                  preference_made, 1, &choice, &found));
    MUONBENCH_CHECK(found == 1, "cublasLtMatmulAlgoGetHeuristic: expected an algorithm, got none");
    const float beta = 0.0F;
    MUONBENCH_CUDA(cublasLtMatmul(lt.get(), desc_made, &p.alpha, p.a.data, a.get(), p.b.data, b.get(), &beta,
                                  p.d.data, d.get(), p.d.data, d.get(), &choice.algo, workspace.data(),
                                  kWorkspaceBytes, stream.get()));
  }

  void multiply_all(const std::array<Product, 3>& products, int steps, GemmLibrary library) const {
    for (int step = 0; step < steps; ++step) {
      for (const Product& product : products) {
        switch (library) {
          case GemmLibrary::kLt: multiply_lt(product); break;
          case GemmLibrary::kStridedBatched: multiply(product); break;
        }
      }
    }
  }

  [[nodiscard]] cuda::OwnedGraphExec captured(const std::array<Product, 3>& products, int steps,
                                              GemmLibrary library) const {
    MUONBENCH_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    multiply_all(products, steps, library);
    cudaGraph_t graph = nullptr;
    MUONBENCH_CUDA(cudaStreamEndCapture(stream.get(), &graph));
    cudaGraphExec_t exec = nullptr;
    MUONBENCH_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    cuda::OwnedGraphExec owned(exec);
    MUONBENCH_CUDA(cudaGraphDestroy(graph));
    return owned;
  }
};

GemmOnly::GemmOnly(Device& device, NsShape shape, int steps, GemmLibrary library, int sets)
    : state_(std::make_unique<State>(device)) {
  for (int set = 0; set < sets; ++set) {
    const Matrices& matrices = state_->sets.emplace_back(device, shape, static_cast<std::uint64_t>(set) + 1);
    const std::array<Product, 3> products = matrices.products(shape);
    // Once outside the graph: kernels are loaded on first use, which a capture does not allow.
    if (set == 0) state_->multiply_all(products, 1, library);
    MUONBENCH_CUDA(cudaStreamSynchronize(state_->stream.get()));
    state_->graphs.push_back(state_->captured(products, steps, library));
  }
}

GemmOnly::~GemmOnly() = default;

double GemmOnly::operator()(int runs) {
  State& s = *state_;
  MUONBENCH_CUDA(cudaEventRecord(s.begin.get(), s.stream.get()));
  for (int run = 0; run < runs; ++run)
    MUONBENCH_CUDA(cudaGraphLaunch(s.graphs[s.turn++ % s.graphs.size()].get(), s.stream.get()));
  MUONBENCH_CUDA(cudaEventRecord(s.end.get(), s.stream.get()));
  MUONBENCH_CUDA(cudaEventSynchronize(s.end.get()));
  float milliseconds = 0.0F;
  MUONBENCH_CUDA(cudaEventElapsedTime(&milliseconds, s.begin.get(), s.end.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace muonbench
