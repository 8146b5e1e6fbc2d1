// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

namespace {

TEST(Job, FailsIfOneRankOtherThanTheFirstFails) {
  int rank = -1;
  ASSERT_EQ(MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_SUCCESS);
  EXPECT_NE(rank, 1) << "only rank 1 fails";
}

}  // namespace
