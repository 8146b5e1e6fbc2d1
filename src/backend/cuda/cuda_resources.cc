// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/cuda_resources.h"

namespace muonbench::cuda {

OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  MUONBENCH_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

OwnedEvent make_event() {
  cudaEvent_t event = nullptr;
  MUONBENCH_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return OwnedEvent(event);
}

OwnedEvent make_timed_event() {
  cudaEvent_t event = nullptr;
  MUONBENCH_CUDA(cudaEventCreate(&event));
  return OwnedEvent(event);
}

PinnedMemory make_pinned(std::size_t bytes) {
  void* data = nullptr;
  if (bytes > 0) MUONBENCH_CUDA(cudaHostAlloc(&data, bytes, cudaHostAllocDefault));
  return PinnedMemory(data);
}

DeviceTable::DeviceTable(std::shared_ptr<MemoryAccount> account, std::size_t bytes)
    : account_(std::move(account)), bytes_(bytes) {
  if (bytes == 0) return;
  MUONBENCH_CUDA(cudaMalloc(&data_, bytes));
  account_->add(static_cast<std::int64_t>(bytes));
}

DeviceTable::DeviceTable(std::shared_ptr<MemoryAccount> account, const void* host, std::size_t bytes)
    : DeviceTable(std::move(account), bytes) {
  if (bytes == 0) return;
  MUONBENCH_CUDA(cudaMemcpyAsync(data_, host, bytes, cudaMemcpyHostToDevice, cudaStreamLegacy));
  // Small copies return when they are staged. Streams that do not wait for the legacy one would read too
  // early.
  MUONBENCH_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
}

DeviceTable::~DeviceTable() {
  if (data_ == nullptr) return;
  MUONBENCH_CUDA_NOEXCEPT(cudaFree(data_));
  account_->add(-static_cast<std::int64_t>(bytes_));
}

}  // namespace muonbench::cuda
