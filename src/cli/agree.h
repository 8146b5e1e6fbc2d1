// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "src/backend/control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/bench/comm_set.h"
#include "src/config/read_config.h"

/// What the commands that run on many ranks share: one decision, one message.
namespace muonbench {

/// Runs `decide` on rank 0 and hands its text to all ranks. A ConfigError there is said once, and all ranks get nothing.
[[nodiscard]] std::optional<std::string> decide_on_rank0(ControlPlane& control, const std::function<std::string()>& decide);

/// What this build knows.
[[nodiscard]] ConfigVocabulary vocabulary();

/// Throws ConfigError with all factors unless the grid has as many ranks as the world.
void require_world_size(const ParallelismConfig& parallelism, int ranks, const std::string& source);

/// Communicators by splitting the world.
[[nodiscard]] MakeComm mpi_comms(const MpiRuntime& runtime);

/// stdout is the result's: a full disk or a closed pipe behind it throws RuntimeFailure.
void print_result(const std::string& content);

}  // namespace muonbench
