// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/backend/backend.h"

namespace muonbench {

/// Values of type T on a device.
template <class T>
class DeviceArray {
 public:
  DeviceArray(Device& device, const std::vector<T>& values, MemoryUse use = MemoryUse::kExchange)
      : device_(&device), count_(values.size()), buffer_(device.allocate(bytes(), use)) {
    write(values);
  }
  void write(const std::vector<T>& values) { device_->upload(buffer_.data(), values.data(), bytes()); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(count_);
    device_->download(values.data(), buffer_.data(), bytes());
    return values;
  }
  [[nodiscard]] T* data() const { return static_cast<T*>(buffer_.data()); }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(count_); }

 private:
  [[nodiscard]] Bytes bytes() const { return Bytes(static_cast<std::int64_t>(count_ * sizeof(T))); }
  Device* device_;
  std::size_t count_;
  Buffer buffer_;
};

}  // namespace muonbench
