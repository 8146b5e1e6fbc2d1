// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/device_array.h"
#include <gtest/gtest.h>

#include "src/backend/backend.h"

/// What every device must do. A backend joins by INSTANTIATE_TEST_SUITE_P(Name, DeviceConformance,
/// Values(DeviceCase{...})) in a source of its own, linked with :device_conformance.
namespace muonbench {

struct DeviceCase {
  std::string name;
  std::function<std::unique_ptr<Device>()> make;
  friend void PrintTo(const DeviceCase& each, std::ostream* out) { *out << each.name; }
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

/// Bits, so that -0 differs from 0 and NaN equals itself.
[[nodiscard]] std::vector<std::uint32_t> bits(const std::vector<float>& values);

/// Standard normal numbers; the same for the same seed.
[[nodiscard]] std::vector<float> normal_values(std::int64_t n, unsigned seed);

}  // namespace muonbench
