// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/peer_memory.h"

#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench::cuda {

class MappedAllocation {
 public:
  MappedAllocation(const cudaIpcMemHandle_t& handle, int peer) {
    const cudaError_t result = cudaIpcOpenMemHandle(&base_, handle, cudaIpcMemLazyEnablePeerAccess);
    if (result == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // said once, here
    throw RuntimeFailure(text(
        "transport copy_engine: memory of rank {} of the group cannot be mapped: {} ({}); nccl takes ways "
        "beside NVLink and PCIe",
        peer, cudaGetErrorName(result), cudaGetErrorString(result)));
  }
  MappedAllocation(const MappedAllocation&) = delete;
  MappedAllocation& operator=(const MappedAllocation&) = delete;
  /// While an exception is on its way copies to it may still be under way: it stays until the process ends.
  ~MappedAllocation() {
    if (std::uncaught_exceptions() == 0) MUONBENCH_CUDA_NOEXCEPT(cudaIpcCloseMemHandle(base_));
  }
  [[nodiscard]] std::byte* base() const { return static_cast<std::byte*>(base_); }

 private:
  void* base_ = nullptr;
};

ExportedAddress exported(const CudaDevice& device, const void* data) {
  std::byte* const base = device.exchange_allocation(data);
  ExportedAddress address = exported_allocation(base);
  address.offset = static_cast<const std::byte*>(data) - base;
  return address;
}

ExportedAddress exported_allocation(void* base) {
  ExportedAddress address;
  MUONBENCH_CUDA(cudaIpcGetMemHandle(&address.allocation, base));
  return address;
}

PeerAddress PeerMemory::map(const ExportedAddress& address, int peer) {
  std::erase_if(mapped_, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<const MappedAllocation>& known =
      mapped_[std::string(address.allocation.reserved, sizeof address.allocation.reserved)];
  std::shared_ptr<const MappedAllocation> allocation = known.lock();
  if (allocation == nullptr)
    known = allocation = std::make_shared<const MappedAllocation>(address.allocation, peer);
  std::byte* const data = allocation->base() + address.offset;
  return {std::move(allocation), data};
}

}  // namespace muonbench::cuda
