// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/mpi/mpi_group.h"
#include "src/backend/reductions.h"

namespace muonbench {

/// Pieces become MPI_Iallreduce and MPI_Ireduce, in place. MPI_Ireduce_scatter would not do: in place it puts
/// the sum where the first segment lies, and its segments must touch.
///
/// start() lets no more than reduced_at_a_time elements be under way and waits for the peers where there are
/// more. Groups start their transfers in one order, so no ranks wait for one another in a circle.
[[nodiscard]] std::unique_ptr<Transfer> make_mpi_reduction(std::shared_ptr<MpiGroup> group, Reductions work);

}  // namespace muonbench
