// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace muonbench {

/// Where a rank computes.
struct RankPlace {
  std::string host;
  std::string pci;  ///< bus id of its GPU
};

/// NCCL takes one rank per GPU. `places` by world rank; one message that names the first host where ranks
/// share a GPU, with both numbers, the ranks and the GPUs. Empty if none do.
[[nodiscard]] std::string shared_gpu_refusal(const std::vector<RankPlace>& places);

}  // namespace muonbench
