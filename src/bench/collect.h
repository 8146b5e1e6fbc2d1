// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "src/bench/mode_run.h"
#include "src/bench/resolve.h"
#include "src/bench/result.h"
#include "src/bench/session.h"

namespace muonbench {

/// A mode as its programs alone tell it, one entry of `costs` per world rank; every measured field is
/// unknown.
[[nodiscard]] ModeInfo planned_mode_info(const Mode& mode, const StepInputs& inputs,
                                         const std::vector<RankCosts>& costs);

/// What all ranks found in one mode, put together. Collective; `info` is complete on rank 0 alone, `check`
/// likewise.
struct CollectedMode {
  ModeInfo info;
  ModelCheck check;
};
[[nodiscard]] CollectedMode collect_mode(const Mode& mode, const ResolvedRun& run, const ModeRun& mode_run,
                                         const std::vector<std::string>& hosts, ControlPlane& control);

/// Facts about hosts, devices and libraries; complete on rank 0 alone. `hosts` of the result: host of each
/// rank.
struct CollectedEnvironment {
  EnvironmentInfo info;
  std::vector<std::string> host_of_rank;
};
[[nodiscard]] CollectedEnvironment collect_environment(const Provenance& provenance, RankContext& context);

/// One line that names the kinds of device and a rank of each, if there are several: what is promised about
/// bits holds among equal devices. Else empty.
[[nodiscard]] std::string unlike_devices(const std::vector<DeviceInfo>& devices);

[[nodiscard]] ModelInfo model_info(const StepInputs& inputs);
[[nodiscard]] std::vector<HomeInfo> home_infos(const StepInputs& inputs);

/// speedup_vs_duplicated of every mode that has a median, where duplicated has one.
void add_speedups(std::vector<ModeInfo>& modes);

}  // namespace muonbench
