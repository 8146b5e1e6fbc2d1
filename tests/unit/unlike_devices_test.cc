// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "src/bench/collect.h"

namespace muonbench {
namespace {

DeviceInfo device(int rank, std::string name) {
  DeviceInfo info;
  info.rank = rank;
  info.name = std::move(name);
  return info;
}

TEST(UnlikeDevices, EqualOnesAreNotWorthALine) {
  EXPECT_EQ(unlike_devices({}), "");
  EXPECT_EQ(unlike_devices({device(0, "A"), device(1, "A"), device(2, "A")}), "");
}

TEST(UnlikeDevices, EachKindIsNamedOnceWithItsFirstRank) {
  EXPECT_EQ(unlike_devices({device(0, "B"), device(1, "A"), device(2, "B"), device(3, "A")}),
            "devices differ: A (rank 1), B (rank 0); equal bits are promised among equal devices alone");
}

}  // namespace
}  // namespace muonbench
