// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/bench/mode_run.h"

namespace muonbench {

/// Stands between a rank's device, or a communicator, and whoever uses it.
using WrapDevice = std::function<std::unique_ptr<Device>(std::unique_ptr<Device>)>;
using WrapComm = std::function<std::unique_ptr<Comm>(std::unique_ptr<Comm>, Device&)>;

/// Runs `body` once for each rank of the grid, each on a thread of its own with device, communicators and
/// control plane. Returns what each rank threw, empty where nothing.
[[nodiscard]] std::vector<std::string> run_as_threads(const RankGrid& grid,
                                                      const std::function<void(RankContext&)>& body,
                                                      const WrapComm& wrap = nullptr,
                                                      const WrapDevice& wrap_device = nullptr);

}  // namespace muonbench
