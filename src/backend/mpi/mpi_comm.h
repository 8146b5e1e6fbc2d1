// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "src/backend/backend.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/backend/mpi/mpi_segments.h"

namespace muonbench {

/// How a rank waits for its peers. spin: polls without a pause, the fastest where each rank has a core of its
/// own. yield: polls, then lets others run, then sleeps for moments, so that ranks that wait leave the cores
/// to those that compute.
enum class MpiWaiting { kSpin, kYield };

struct MpiCommOptions {
  MpiWaiting waiting = MpiWaiting::kSpin;
  std::int64_t largest_message = kLargestMpiCount;  ///< elements; less than an int holds in tests alone
  std::int64_t reduced_at_a_time = std::int64_t{1} << 24;  ///< elements; MPI keeps a copy of them
};

/// kYield where this machine runs more ranks than it has cores for.
[[nodiscard]] MpiWaiting default_waiting(const MpiRuntime& runtime);

/// One group of a partition of all ranks. Collective over MPI_COMM_WORLD: ranks that name the same color
/// become one group, in it ordered by `key`. A rank with a negative color takes part in the call, belongs to
/// no group and gets nullptr. Destroy it before the runtime; being destroyed is collective over the group.
/// Segments are host memory. Empty segments make no message.
[[nodiscard]] std::unique_ptr<Comm> make_mpi_comm(const MpiRuntime& runtime, int color, int key,
                                                  MpiCommOptions options);
[[nodiscard]] std::unique_ptr<Comm> make_mpi_comm(const MpiRuntime& runtime, int color, int key);

}  // namespace muonbench
