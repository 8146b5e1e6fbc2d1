// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/backend/backend.h"
#include "src/backend/control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/base/error.h"
#include "src/base/text.h"
#include "src/bench/comm_set.h"
#include "src/bench/result.h"
#include "src/cli/arguments.h"
#include "src/config/read_config.h"
#include "src/config/run_config.h"

/// What the commands that run on many ranks share: one decision, one message.
namespace muonbench {

/// Runs `decide` on rank 0 and hands its text to all ranks. A ConfigError there is said once, and all ranks
/// get nothing.
[[nodiscard]] std::optional<std::string> decide_on_rank0(ControlPlane& control,
                                                         const std::function<std::string()>& decide);

/// What this build knows.
[[nodiscard]] ConfigVocabulary vocabulary();

/// Throws ConfigError with all factors unless the grid has as many ranks as the world.
void require_world_size(const ParallelismConfig& parallelism, int ranks, const std::string& source);

/// Heads an error that knows no file with the one that it is about.
template <class Work>
auto naming_source(const std::string& source, Work work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    throw ConfigError(message.starts_with(source) ? message : text("{}: {}", source, message));
  }
}

/// This rank's device. Where a rank has none, or the transport cannot serve the ranks on theirs, that is said
/// once and no rank gets any.
[[nodiscard]] std::unique_ptr<Device> agree_on_devices(const RunSettings& run, const MpiRuntime& runtime,
                                                       ControlPlane& control);

/// Communicators by splitting the world.
[[nodiscard]] MakeComm make_comms(Transport transport, Device& device, const MpiRuntime& runtime);

/// Refuses, before anything runs, a file that could not be written afterwards.
void check_outputs(const Arguments& arguments);
/// Writes --csv, then prints.
void deliver(const Result& result, const Arguments& arguments);

[[nodiscard]] std::string render(const Result& result, OutputFormat format);

/// stdout is the result's: a full disk or a closed pipe behind it throws RuntimeFailure.
void print_result(const std::string& content);

}  // namespace muonbench
