// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "src/backend/cuda/cuda_check.h"

/// Owners of what the CUDA runtime and cuBLASLt hand out. All are move-only, may be empty, and free on
/// destruction.
namespace muonbench::cuda {

template <class Handle, auto Destroy>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) noexcept : handle_(handle) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) MUONBENCH_CUDA_NOEXCEPT(Destroy(handle_));
  }
  [[nodiscard]] Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;
using OwnedGraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using PinnedMemory = Owned<void*, cudaFreeHost>;

/// A stream that does not wait for the legacy default stream.
[[nodiscard]] OwnedStream make_stream();
/// Such a one whose kernels get multiprocessors that become free before those of make_stream()'s.
[[nodiscard]] OwnedStream make_high_priority_stream();
/// An event that takes no time stamps, or one that does.
[[nodiscard]] OwnedEvent make_event();
[[nodiscard]] OwnedEvent make_timed_event();
/// Page-locked host memory, which the device copies from and to without the host.
[[nodiscard]] PinnedMemory make_pinned(std::size_t bytes);

/// Bytes of device memory that one device handed out, and the most at a time.
struct MemoryAccount {
  std::int64_t now = 0, peak = 0;
  void add(std::int64_t bytes) {
    now += bytes;
    peak = std::max(peak, now);
  }
};

/// Device memory of no MemoryUse: workspaces of libraries, and small tables that kernels read.
class DeviceTable {
 public:
  DeviceTable() = default;
  /// Throws RuntimeFailure.
  DeviceTable(std::shared_ptr<MemoryAccount> account, std::size_t bytes);
  /// Holds a copy of `bytes` bytes at `host`.
  DeviceTable(std::shared_ptr<MemoryAccount> account, const void* host, std::size_t bytes);
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;
  DeviceTable(DeviceTable&& other) noexcept { swap(other); }
  DeviceTable& operator=(DeviceTable&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceTable();
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void swap(DeviceTable& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  std::shared_ptr<MemoryAccount> account_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace muonbench::cuda
