// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_segments.h"

#include <vector>

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

using Segments = std::vector<MpiSegment>;

TEST(MpiSegments, NothingIsNoMessage) { EXPECT_EQ(mpi_segments(Elements(0)), Segments{}); }

TEST(MpiSegments, WhatFitsAnIntIsOneMessage) {
  EXPECT_EQ(mpi_segments(Elements(1)), (Segments{{Elements(0), 1}}));
  EXPECT_EQ(mpi_segments(Elements(2147483647)), (Segments{{Elements(0), 2147483647}}));
}

TEST(MpiSegments, OneElementMoreIsASecondMessage) {
  EXPECT_EQ(mpi_segments(Elements(2147483648)),
            (Segments{{Elements(0), 2147483647}, {Elements(2147483647), 1}}));
}

TEST(MpiSegments, CoverEveryElementOnce) {
  EXPECT_EQ(mpi_segments(Elements(10), 4), (Segments{{Elements(0), 4}, {Elements(4), 4}, {Elements(8), 2}}));
  EXPECT_EQ(mpi_segments(Elements(8), 4), (Segments{{Elements(0), 4}, {Elements(4), 4}}));
  EXPECT_EQ(mpi_segments(Elements(3), 1), (Segments{{Elements(0), 1}, {Elements(1), 1}, {Elements(2), 1}}));
}

TEST(MpiSegments, RefuseSizesThatAreNone) {
  EXPECT_THROW(static_cast<void>(mpi_segments(Elements(-1))), RuntimeFailure);
  EXPECT_THROW(static_cast<void>(mpi_segments(Elements(5), 0)), RuntimeFailure);
  EXPECT_THROW(static_cast<void>(mpi_segments(Elements(5), std::int64_t{1} << 31)), RuntimeFailure);
}

}  // namespace
}  // namespace muonbench
