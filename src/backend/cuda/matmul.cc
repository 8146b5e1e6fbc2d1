// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/matmul.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

// Parts of NS scratch begin on multiples of 64 elements (ns_scratch_layout).
constexpr std::uint32_t kAlignment = 128;
// That the library is asked for. Fewer would hide some of those that kTileRules means.
constexpr int kProposals = 8;

cudaDataType_t data_type(Number number) {
  switch (number) {
    case Number::kFp32: return CUDA_R_32F;
    case Number::kBf16: return CUDA_R_16BF;
    case Number::kFp16: return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

cublasComputeType_t compute_type(MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::kHighest:
    case MatmulPrecision::kMedium: return CUBLAS_COMPUTE_32F;
    case MatmulPrecision::kHigh: return CUBLAS_COMPUTE_32F_FAST_TF32;
  }
  return CUBLAS_COMPUTE_32F;
}

using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class Value>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, Value value) {
  MUONBENCH_CUDA(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value)));
}
template <class Value>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, Value value) {
  MUONBENCH_CUDA(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof(value)));
}
template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
  MUONBENCH_CUDA(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)));
}

/// A matrix as it lies in memory.
struct Stored {
  std::int64_t rows, cols, leading;
};

Layout make_layout(const Product& product, const Stored& stored) {
  cublasLtMatrixLayout_t created = nullptr;
  MUONBENCH_CUDA(cublasLtMatrixLayoutCreate(&created, data_type(product.number),
                                            static_cast<std::uint64_t>(stored.rows),
                                            static_cast<std::uint64_t>(stored.cols), stored.leading));
  Layout layout(created);
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{product.batch});
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, product.stride);
  return layout;
}

Stored stored_operand(std::int64_t rows, std::int64_t cols, std::int64_t leading, bool transposed) {
  return transposed ? Stored{cols, rows, leading} : Stored{rows, cols, leading};
}

cublasLtMatmulTile_t tile_of(const cublasLtMatmulHeuristicResult_t& proposal) {
  std::uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  std::size_t written = 0;
  MUONBENCH_CUDA(cublasLtMatmulAlgoConfigGetAttribute(&proposal.algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile,
                                                      sizeof(tile), &written));
  return static_cast<cublasLtMatmulTile_t>(tile);
}

/// Products for which `tile` was faster than the library's first proposal.
struct TileRule {
  Addend addend;
  bool single, batched;  ///< for which batches it is
  std::int64_t most_m, most_k;
  cublasLtMatmulTile_t tile;
};

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
// Products of fewer tiles leave multiprocessors idle, and the library knows best.
constexpr std::int64_t kRuleTile = 128, kMultiprocessors = 132;
/// Found on an H200 with cuBLAS 13.1 and the shapes of results/gpu (`gpu_bench ns`); the first that fits and
/// is proposed counts. Sums with an addend spend much of their time in the epilogue, and want tiles so small
/// that two fit a multiprocessor: one multiplies while the other adds. Batches of small matrices leave less
/// of a small tile empty. Large matrices alone have no rule: a GPU that works on them for long is bound by
/// its power, and there what is faster for some milliseconds is slower.
constexpr std::array kTileRules = {
    TileRule{Addend::kC, true, true, kAny, 2048, CUBLASLT_MATMUL_TILE_128x128},
    TileRule{Addend::kC, false, true, kAny, 4096, CUBLASLT_MATMUL_TILE_128x160},
    TileRule{Addend::kNone, false, true, 1024, kAny, CUBLASLT_MATMUL_TILE_128x128},
    TileRule{Addend::kNone, false, true, 2048, kAny, CUBLASLT_MATMUL_TILE_128x160},
    TileRule{Addend::kNone, false, true, kAny, kAny, CUBLASLT_MATMUL_TILE_176x128},
};

std::int64_t tiles_of(const Product& product) {
  const auto tiles = [](std::int64_t length) { return (length + kRuleTile - 1) / kRuleTile; };
  return tiles(product.m) * tiles(product.n) * product.batch;
}

/// Whether rules are for such products at all.
bool ruled(const Product& product) {
  return product.number != Number::kFp32 && tiles_of(product) >= kMultiprocessors;
}

bool fits(const TileRule& rule, const Product& product) {
  return rule.addend == product.addend && (product.batch > 1 ? rule.batched : rule.single) &&
         product.m <= rule.most_m && product.k <= rule.most_k;
}

const cublasLtMatmulHeuristicResult_t& preferred(const Product& product,
                                                 std::span<const cublasLtMatmulHeuristicResult_t> proposals) {
  const auto with = [proposals](cublasLtMatmulTile_t tile) {
    return std::ranges::find(proposals, tile, tile_of);
  };
  const auto& first = proposals.front();
  if (!ruled(product)) return first;
  for (const TileRule& rule : kTileRules) {
    if (!fits(rule, product)) continue;
    if (const auto found = with(rule.tile); found != proposals.end()) return *found;
  }
  if (tile_of(first) == CUBLASLT_MATMUL_TILE_320x128)
    if (const auto found = with(CUBLASLT_MATMUL_TILE_256x128); found != proposals.end()) return *found;
  return first;
}

/// On small tiles B is read faster along its rows. A symmetric one can be.
Product with_faster_operands(Product product) {
  const auto rule =
      std::ranges::find_if(kTileRules, [&product](const TileRule& one) { return fits(one, product); });
  if (product.symmetric_b && ruled(product) && rule != kTileRules.end() &&
      rule->tile == CUBLASLT_MATMUL_TILE_128x128)
    product.transpose_b = !product.transpose_b;
  return product;
}

}  // namespace

class MatmulPlan {
 public:
  MatmulPlan(cublasLtHandle_t handle, const Product& product)
      : a_(make_layout(product, stored_operand(product.m, product.k, product.lda, product.transpose_a))),
        b_(make_layout(product, stored_operand(product.k, product.n, product.ldb, product.transpose_b))),
        d_(make_layout(product, {product.m, product.n, product.ldd})) {
    cublasLtMatmulDesc_t created = nullptr;
    MUONBENCH_CUDA(cublasLtMatmulDescCreate(&created, compute_type(product.precision), CUDA_R_32F));
    description_ = Description(created);
    set(description_, CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description_, CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    choose_algorithm(handle, product);
  }

  void enqueue(cublasLtHandle_t handle, const Matmul::Operands& o, void* workspace,
               cudaStream_t stream) const {
    MUONBENCH_CUDA(cublasLtMatmul(handle, description_.get(), &o.alpha, o.a, a_.get(), o.b, b_.get(), &o.beta,
                                  o.c, d_.get(), o.d, d_.get(), &algorithm_, workspace, kMatmulWorkspace,
                                  stream));
  }

 private:
  // Of what the library proposes, by rules: measuring here might choose differently on two ranks, whose
  // copies of a matrix would then drift apart.
  void choose_algorithm(cublasLtHandle_t handle, const Product& product) {
    cublasLtMatmulPreference_t created = nullptr;
    MUONBENCH_CUDA(cublasLtMatmulPreferenceCreate(&created));
    const Preference preference(created);
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kMatmulWorkspace});
    // Splits of k are added up in one order, in fp32.
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(preference, attribute, kAlignment);
    std::array<cublasLtMatmulHeuristicResult_t, kProposals> found{};
    int count = 0;
    const cublasStatus_t result =
        cublasLtMatmulAlgoGetHeuristic(handle, description_.get(), a_.get(), b_.get(), d_.get(), d_.get(),
                                       preference.get(), kProposals, found.data(), &count);
    const auto proposed = std::remove_if(
        found.begin(), found.begin() + count,
        [](const cublasLtMatmulHeuristicResult_t& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
    if (result == CUBLAS_STATUS_NOT_SUPPORTED ||
        (result == CUBLAS_STATUS_SUCCESS && proposed == found.begin()))
      throw RuntimeFailure(text("cuBLASLt has no algorithm for a batch of {} products ({}, {}) x ({}, {})",
                                product.batch, product.m, product.k, product.k, product.n));
    MUONBENCH_CUDA(result);
    algorithm_ = preferred(product, {found.begin(), proposed}).algo;
  }

  Layout a_, b_, d_;
  Description description_;
  cublasLtMatmulAlgo_t algorithm_{};
};

Matmul::Matmul() {
  cublasLtHandle_t created = nullptr;
  MUONBENCH_CUDA(cublasLtCreate(&created));
  handle_ = LtHandle(created);
}

Matmul::~Matmul() = default;

const MatmulPlan& Matmul::plan(const Product& product) {
  std::unique_ptr<MatmulPlan>& plan = plans_[product];
  if (plan == nullptr) plan = std::make_unique<MatmulPlan>(handle_.get(), with_faster_operands(product));
  return *plan;
}

void Matmul::enqueue(const MatmulPlan& plan, const Operands& operands, void* workspace,
                     cudaStream_t stream) const {
  plan.enqueue(handle_.get(), operands, workspace, stream);
}

}  // namespace muonbench::cuda
