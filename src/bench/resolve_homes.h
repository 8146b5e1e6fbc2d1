// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/config/run_config.h"
#include "src/program/modes.h"

namespace muonbench {

/// Fills in homes, and those of owners where layer_wise.owners are set, by muon.home_policy. Throws
/// ConfigError for an impossible entry of muon.homes; adds a warning for parameters that it leaves out.
void assign_homes(const MuonConfig& muon, StepInputs& inputs, std::vector<std::string>& warnings);

/// Cuts what is routed to those homes into waves, and puts NS beside what travels where the backend has
/// queues.
void send_in_waves(const RunConfig& config, StepInputs& inputs);

}  // namespace muonbench
