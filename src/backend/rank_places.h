// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muonbench {

/// Where a rank computes.
struct RankPlace {
  std::string host;
  std::string pci;  ///< bus id of its GPU
};

/// For a transport that takes one rank per GPU. `places` by world rank; one message that names the first host
/// where ranks share a GPU, with both numbers, the ranks and the GPUs. Empty if none do.
[[nodiscard]] std::string shared_gpu_refusal(std::string_view transport,
                                             const std::vector<RankPlace>& places);

/// For a transport between GPUs of one host: one message that names the hosts. Empty if there is one.
[[nodiscard]] std::string several_hosts_refusal(std::string_view transport,
                                                const std::vector<RankPlace>& places);

}  // namespace muonbench
