// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "src/base/strong.h"

namespace muonbench {

/// One message: `count` elements from `offset` on.
struct MpiSegment {
  Elements offset;
  int count = 0;
  friend bool operator==(const MpiSegment&, const MpiSegment&) = default;
};

/// What one MPI count can hold.
inline constexpr std::int64_t kLargestMpiCount = std::numeric_limits<int>::max();

/// MPI counts are int. `n` elements are cut into messages of at most `largest` here and nowhere else; nothing
/// is no message. Sender and receiver cut alike, since both know n.
[[nodiscard]] std::vector<MpiSegment> mpi_segments(Elements n, std::int64_t largest = kLargestMpiCount);

}  // namespace muonbench
