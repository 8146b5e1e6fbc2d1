// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/cuda_resources.h"

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench::cuda {
namespace {

void refuse_if_out_of_memory(cudaError_t result, const char* what, std::size_t bytes, const char* remedy) {
  if (result != cudaErrorMemoryAllocation) return;
  static_cast<void>(cudaGetLastError());  // said once, here
  throw RuntimeFailure(text("out of memory for {}: {} bytes asked for; remedy: {}", what, bytes, remedy));
}

}  // namespace

OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  MUONBENCH_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

OwnedStream make_high_priority_stream() {
  int least = 0, greatest = 0;
  MUONBENCH_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  MUONBENCH_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
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
  if (bytes > 0) {
    const cudaError_t result = cudaHostAlloc(&data, bytes, cudaHostAllocDefault);
    refuse_if_out_of_memory(result, "page-locked host memory of transport mpi", bytes,
                            "more ranks in tp or gtp_remat, or transport nccl");
    MUONBENCH_CUDA(result);
  }
  return PinnedMemory(data);
}

DeviceTable::DeviceTable(std::shared_ptr<MemoryAccount> account, std::size_t bytes)
    : account_(std::move(account)), bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t result = cudaMalloc(&data_, bytes);
  refuse_if_out_of_memory(result, "workspaces and tables of kernels", bytes,
                          "a smaller model part per rank: more tp, gtp_remat or ep");
  MUONBENCH_CUDA(result);
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
