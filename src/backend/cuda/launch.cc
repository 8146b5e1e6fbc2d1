// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/launch.h"

#include <limits>

#include "src/backend/cuda/cuda_check.h"
#include "src/base/check.h"

namespace muonbench::cuda {

unsigned grid_of(std::int64_t blocks) {
  MUONBENCH_CHECK(blocks > 0 && blocks <= std::numeric_limits<std::int32_t>::max(), "{} thread blocks",
                  blocks);
  return static_cast<unsigned>(blocks);
}

void check_launch(const char* kernel) { detail::check(cudaGetLastError(), kernel, __FILE__, __LINE__); }

}  // namespace muonbench::cuda
