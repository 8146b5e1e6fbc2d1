// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Memory of the GPU as a device: taken and counted by use.
#include <algorithm>

#include "src/backend/cuda/cuda_device.h"
#include "src/backend/out_of_memory.h"
#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

/// What is taken of the device for `size` bytes.
std::int64_t taken_for(Bytes size, MemoryUse use) {
  if (use != MemoryUse::kExchange) return size.value();
  return static_cast<std::int64_t>(in_exported_blocks(static_cast<std::size_t>(size.value())));
}

std::size_t index_of(MemoryUse use) { return static_cast<std::size_t>(use); }

}  // namespace

Buffer CudaDevice::allocate(Bytes size, MemoryUse use) {
  MUONBENCH_CHECK(size >= Bytes(0), "{} bytes of {}", size.value(), name_of(use));
  if (size == Bytes(0)) return {};
  void* data = nullptr;
  const cudaError_t result = cudaMalloc(&data, static_cast<std::size_t>(taken_for(size, use)));
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // said once, here
    std::size_t available = 0, total = 0;
    MUONBENCH_CUDA(cudaMemGetInfo(&available, &total));
    fail_allocation(use, size, Bytes(static_cast<std::int64_t>(available)), allocated_);
  }
  MUONBENCH_CUDA(result);
  if (use == MemoryUse::kExchange) exchange_allocations_[static_cast<std::byte*>(data)] = size;
  allocated_.at(index_of(use)) += size;
  account_->add(taken_for(size, use));
  return {data, size, use, this, &CudaDevice::free};
}

void CudaDevice::free(void* device, void* data, Bytes size, MemoryUse use) noexcept {
  auto* self = static_cast<CudaDevice*>(device);
  MUONBENCH_CUDA_NOEXCEPT(cudaFree(data));
  self->exchange_allocations_.erase(static_cast<std::byte*>(data));
  self->allocated_[index_of(use)] -= size;
  self->account_->add(-taken_for(size, use));
}

std::byte* CudaDevice::exchange_allocation(const void* data) const {
  const auto* const at = static_cast<const std::byte*>(data);
  const auto found = std::ranges::find_if(exchange_allocations_, [at](const auto& one) {
    return one.first <= at && at < one.first + one.second.value();
  });
  MUONBENCH_CHECK(found != exchange_allocations_.end(), "memory of another use than exchange goes to peers");
  return found->first;
}

Bytes CudaDevice::allocated(MemoryUse use) const { return allocated_.at(index_of(use)); }
std::optional<Bytes> CudaDevice::peak_allocated() const { return Bytes(account_->peak); }
void CudaDevice::reset_peak() { account_->peak = account_->now; }

}  // namespace muonbench::cuda
