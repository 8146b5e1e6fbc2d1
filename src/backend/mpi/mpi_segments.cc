// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_segments.h"

#include <algorithm>

#include "src/base/check.h"

namespace muonbench {

std::vector<MpiSegment> mpi_segments(Elements n, std::int64_t largest) {
  MUONBENCH_CHECK(n >= Elements(0) && largest > 0 && largest <= kLargestMpiCount,
                  "{} elements in messages of {}", n.value(), largest);
  std::vector<MpiSegment> segments;
  for (std::int64_t offset = 0; offset < n.value(); offset += largest)
    segments.push_back(
        {.offset = Elements(offset), .count = static_cast<int>(std::min(largest, n.value() - offset))});
  return segments;
}

}  // namespace muonbench
