// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/optimizer_kernels.h"

#include <utility>
#include <vector>

#include "src/backend/cuda/kernels.h"
#include "src/backend/merge_rows.h"

namespace muonbench::cuda {
namespace {

/// A list of items in device memory, and what to launch on it.
template <class Item, class Launch>
class ListKernel final : public Kernel {
 public:
  ListKernel(CudaDevice& device, const std::vector<Item>& items, Launch launch)
      : device_(device), launch_(std::move(launch)) {
    std::vector<std::int64_t> sizes;
    sizes.reserve(items.size());
    for (const Item& item : items) sizes.push_back(item.size);
    const std::vector<Piece> pieces = cut_into_pieces(sizes, kPieceElements);
    items_ = device.make_table(items);
    pieces_ = device.make_table(pieces);
    count_ = std::ssize(pieces);
  }

  void enqueue(Queue queue, const StepContext& context) override {
    launch_(PieceList<Item>{items_.as<const Item>(), pieces_.as<const Piece>(), count_}, context,
            device_.stream(queue));
  }

 private:
  CudaDevice& device_;
  Launch launch_;
  DeviceTable items_, pieces_;
  std::int64_t count_ = 0;
};

template <class Item, class Launch>
std::unique_ptr<Kernel> make_list_kernel(CudaDevice& device, const std::vector<Item>& items, Launch launch) {
  return std::make_unique<ListKernel<Item, Launch>>(device, items, std::move(launch));
}

class CopyKernel final : public Kernel {
 public:
  CopyKernel(CudaDevice& device, const std::vector<BoundTile>& tiles) : device_(device) {
    std::vector<DeviceTile> on_device;
    on_device.reserve(tiles.size());
    for (const BoundTile& tile : tiles)
      on_device.push_back({.src = tile.src,
                           .dst = tile.dst,
                           .src_stride = tile.src_stride,
                           .dst_stride = tile.dst_stride,
                           .src_bf16 = tile.src_dtype == DType::kBf16 ? 1 : 0,
                           .dst_bf16 = tile.dst_dtype == DType::kBf16 ? 1 : 0});
    const std::vector<TilePart> parts = cut_tiles(tiles, kPieceElements);
    tiles_ = device.make_table(on_device);
    parts_ = device.make_table(parts);
    count_ = std::ssize(parts);
  }

  void enqueue(Queue queue, const StepContext& /*context*/) override {
    launch_copy(tiles_.as<const DeviceTile>(), parts_.as<const TilePart>(), count_, device_.stream(queue));
  }

 private:
  CudaDevice& device_;
  DeviceTable tiles_, parts_;
  std::int64_t count_ = 0;
};

class ZeroFillKernel final : public Kernel {
 public:
  ZeroFillKernel(CudaDevice& device, BoundZeroFill work) : device_(device), work_(std::move(work)) {}
  void enqueue(Queue queue, const StepContext& /*context*/) override {
    for (const auto& [data, size] : work_.regions)
      if (size > Bytes(0))
        MUONBENCH_CUDA(
            cudaMemsetAsync(data, 0, static_cast<std::size_t>(size.value()), device_.stream(queue)));
  }

 private:
  CudaDevice& device_;
  BoundZeroFill work_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_momentum(CudaDevice& device, const BoundMomentum& work) {
  const MomentumRule& rule = work.rule;
  const MomentumScalars scalars{.decay = rule.decay_factor(),
                                .l2 = rule.l2_factor(),
                                .rest = static_cast<float>(1.0 - rule.momentum),
                                .momentum = static_cast<float>(rule.momentum),
                                .nesterov = rule.nesterov};
  return make_list_kernel(device, work.items,
                          [scalars](const PieceList<BoundMomentumItem>& list, const StepContext&,
                                    cudaStream_t stream) { launch_momentum(list, scalars, stream); });
}

std::unique_ptr<Kernel> prepare_update(CudaDevice& device, const BoundUpdate& work) {
  return make_list_kernel(device, work.items,
                          [lr = work.lr](const PieceList<BoundUpdateItem>& list, const StepContext&,
                                         cudaStream_t stream) { launch_update(list, lr, stream); });
}

std::unique_ptr<Kernel> prepare_adam(CudaDevice& device, const BoundAdam& work) {
  return make_list_kernel(
      device, work.items,
      [rule = work.rule, moments = work.moments](const PieceList<BoundAdamItem>& list,
                                                 const StepContext& context, cudaStream_t stream) {
        launch_adam(list, adam_scalars(rule, context.step + 1), moments, stream);
      });
}

std::unique_ptr<Kernel> prepare_copy(CudaDevice& device, BoundCopy work) {
  return std::make_unique<CopyKernel>(device, merge_rows(std::move(work)).tiles);
}

std::unique_ptr<Kernel> prepare_zero_fill(CudaDevice& device, BoundZeroFill work) {
  return std::make_unique<ZeroFillKernel>(device, std::move(work));
}

}  // namespace muonbench::cuda
