// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/backend.h"

namespace muonbench {

/// A range for profilers that ends with its scope.
class DeviceRange {
 public:
  DeviceRange(Device& device, const char* name) : device_(device) { device_.begin_range(name); }
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;
  ~DeviceRange() { device_.end_range(); }

 private:
  Device& device_;
};

}  // namespace muonbench
