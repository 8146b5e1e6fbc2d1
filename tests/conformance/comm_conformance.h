// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "src/backend/backend.h"

/// What every transport must do. It joins by INSTANTIATE_TEST_SUITE_P(Name, CommConformance,
/// Values(CommCase{...})) in a source of its own, linked with :comm_conformance.
namespace muonbench {

/// What one rank does in a test: its communicator, and the device whose memory it communicates from.
using RankBody = std::function<void(Comm&, Device&)>;

struct CommCase {
  std::string name;
  /// Runs the body for every rank of a fresh group that this process has: one under mpirun, all where ranks
  /// are threads.
  std::function<void(const RankBody&)> for_each_rank;
  friend void PrintTo(const CommCase& each, std::ostream* out) { *out << each.name; }
};

class CommConformance : public testing::TestWithParam<CommCase> {
 protected:
  void for_each_rank(const RankBody& body) { GetParam().for_each_rank(body); }
};

}  // namespace muonbench
