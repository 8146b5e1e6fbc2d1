// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/symmetric_matmul.h"

#include <array>
#include <limits>
#include <utility>

#include "src/backend/cuda/driver_entry.h"
#include "src/backend/cuda/symmetric_kernels.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace muonbench::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// A batch of row-major matrices without gaps, in boxes of kBoxSide a side.
CUtensorMap map_of(Encode encode, void* data, Shape matrix, const SymmetricProduct& product) {
  const auto bytes = [](std::int64_t elements) {
    return static_cast<cuuint64_t>(bytes_of(Elements(elements), DType::kBf16).value());
  };
  const std::array<cuuint64_t, 3> sizes = {static_cast<cuuint64_t>(matrix.cols),
                                           static_cast<cuuint64_t>(matrix.rows),
                                           static_cast<cuuint64_t>(product.batch)};
  const std::array<cuuint64_t, 2> strides = {bytes(matrix.cols), bytes(product.stride)};
  const std::array<cuuint32_t, 3> box = {kBoxSide, kBoxSide, 1}, every = {1, 1, 1};
  CUtensorMap map{};
  check_driver(encode(&map,
                      product.number == Number::kFp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                      : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                      sizes.size(), data, sizes.data(), strides.data(), box.data(), every.data(),
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
               text("cuTensorMapEncodeTiled for {} x {} x {}", product.batch, matrix.rows, matrix.cols));
  return map;
}

}  // namespace

class SymmetricPlan {
 public:
  SymmetricPlan(const SymmetricProduct& product, const SymmetricTiles& tiling, DeviceTable tiles)
      : encode_(driver_function<Encode>("cuTensorMapEncodeTiled", 12000)),
        product_(product),
        kernel_(tiling.kernel),
        tile_count_(static_cast<int>(tiling.tiles.size())),
        tiles_(std::move(tiles)) {}

  [[nodiscard]] SymmetricLaunch launch(const SymmetricMatmul::Operands& o) const {
    const std::int64_t side = product_.x.gram_side();
    return {.operand = map_of(encode_, o.x, product_.x.shape, product_),
            .other = map_of(encode_, o.y, product_.x.shape, product_),
            .result = map_of(encode_, o.d, {side, side}, product_),
            .number = product_.number,
            .kernel = kernel_,
            .summed_over_rows = product_.x.side == GramSide::kColumns,
            .tiles = tiles_.as<const SymmetricTiles::Tile>(),
            .tiles_of_matrix = tile_count_,
            .batch = product_.batch,
            .steps = static_cast<int>((product_.x.length() + kBoxSide - 1) / kBoxSide),
            .side = static_cast<int>(side),
            .alpha = o.alpha,
            .beta = o.beta,
            .addend = o.c,
            .addend_stride = product_.stride};
  }

  [[nodiscard]] int batch() const { return product_.batch; }

 private:
  Encode encode_;
  SymmetricProduct product_;
  SymmetricKernel kernel_;
  int tile_count_;
  DeviceTable tiles_;
};

SymmetricMatmul::SymmetricMatmul(const CudaDevice& device) : device_(device) {
  MUONBENCH_CUDA(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device.ordinal()));
  if (device.capabilities().syrk) prepare_symmetric_kernels();
}

SymmetricMatmul::~SymmetricMatmul() = default;

bool SymmetricMatmul::takes(const SymmetricProduct& product) {
  return product.number != Number::kFp32 && has_halves(product.x) && product.stride % kSymmetricSides == 0;
}

const SymmetricPlan& SymmetricMatmul::plan(const SymmetricProduct& product) {
  MUONBENCH_CHECK(device_.capabilities().syrk && takes(product), "a symmetric product of {} x {} on {}",
                  product.x.shape.rows, product.x.shape.cols, device_.capabilities().device_name);
  std::unique_ptr<SymmetricPlan>& plan = plans_[product];
  if (plan == nullptr) {
    const SymmetricKernel kernel = product.kernel.value_or(
        choose_kernel(product.x.gram_side(), product.x.length(), product.batch, multiprocessors_));
    const SymmetricTiles tiling = tile_symmetric(kernel, product.x.gram_side());
    MUONBENCH_CHECK(std::ssize(tiling.tiles) * product.batch <= std::numeric_limits<int>::max(),
                    "{} tiles of {} matrices", tiling.tiles.size(), product.batch);
    DeviceTable tiles = device_.make_table(tiling.tiles);
    plan = std::make_unique<SymmetricPlan>(product, tiling, std::move(tiles));
  }
  return *plan;
}

void SymmetricMatmul::enqueue(const SymmetricPlan& plan, const Operands& operands,
                              cudaStream_t stream) const {
  if (plan.batch() == 0) return;
  launch_symmetric(plan.launch(operands), multiprocessors_, stream);
}

}  // namespace muonbench::cuda
