// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

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

/// Starts, waits and synchronizes.
inline void run(Transfer& transfer, Device& device, Queue queue) {
  transfer.start(queue);
  transfer.wait(queue);
  device.synchronize(queue);
}

/// Regions of these sizes from `array` on, with an element that is nobody's behind each.
template <class T>
[[nodiscard]] std::vector<BoundSegment> regions_apart(T* array, std::span<const std::int64_t> sizes) {
  std::vector<BoundSegment> regions;
  for (const std::int64_t size : sizes) {
    regions.push_back({array, size});
    array += size + 1;
  }
  return regions;
}

class CommConformance : public testing::TestWithParam<CommCase> {
 protected:
  void for_each_rank(const RankBody& body) { GetParam().for_each_rank(body); }
};

}  // namespace muonbench
