// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/bench/mode_run.h"

namespace muonbench {

/// Stands between a communicator and whoever uses it.
using WrapComm = std::function<std::unique_ptr<Comm>(std::unique_ptr<Comm>)>;

/// Runs `body` once for each rank of the grid, each on a thread of its own with device, communicators and
/// control plane. Returns what each rank threw, empty where nothing.
[[nodiscard]] std::vector<std::string> run_as_threads(const RankGrid& grid,
                                                      const std::function<void(RankContext&)>& body,
                                                      const WrapComm& wrap = nullptr);

}  // namespace muonbench
