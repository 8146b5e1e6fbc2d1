// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/backend/backend.h"

/// What every device must do. A backend joins by INSTANTIATE_TEST_SUITE_P(Name, DeviceConformance, Values(DeviceCase{...}))
/// in a source of its own, linked with :device_conformance.
namespace muonbench {

struct DeviceCase {
  std::string name;
  std::function<std::unique_ptr<Device>()> make;
};

class DeviceConformance : public testing::TestWithParam<DeviceCase> {
 protected:
  Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_ = GetParam().make();
};

/// Prepares work, runs it once in a queue of its own and waits for it.
template <class Work>
void run_once(Device& device, Work work, std::int64_t step = 0) {
  const Queue queue = device.make_queue();
  const std::unique_ptr<Kernel> kernel = device.prepare(std::move(work));
  kernel->enqueue(queue, StepContext{.step = step});
  device.synchronize(queue);
}

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

/// Bits, so that -0 differs from 0 and NaN equals itself.
[[nodiscard]] std::vector<std::uint32_t> bits(const std::vector<float>& values);

/// Standard normal numbers; the same for the same seed.
[[nodiscard]] std::vector<float> normal_values(std::int64_t n, unsigned seed);

}  // namespace muonbench
