// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/rank_places.h"

#include <cstddef>
#include <map>

#include "src/base/text.h"

namespace muonbench {
namespace {

using RanksByGpu = std::map<std::string, std::vector<std::string>>;

std::string refusal_on(const std::string& host, const RanksByGpu& gpus) {
  std::size_t ranks = 0;
  std::vector<std::string> shared;
  for (const auto& [pci, sharers] : gpus) {
    ranks += sharers.size();
    if (sharers.size() > 1) shared.push_back(text("ranks {} share {}", join(sharers), pci));
  }
  return text(
      "run.transport: nccl takes one rank per GPU, but host {} has {} ranks on {} {}: {}; mpi takes several "
      "ranks on one GPU",
      host, ranks, gpus.size(), gpus.size() == 1 ? "GPU" : "GPUs", join(shared, "; "));
}

}  // namespace

std::string shared_gpu_refusal(const std::vector<RankPlace>& places) {
  std::map<std::string, RanksByGpu> hosts;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    hosts[places[rank].host][places[rank].pci].push_back(text("{}", rank));
  for (const auto& [host, gpus] : hosts)
    for (const auto& [pci, sharers] : gpus)
      if (sharers.size() > 1) return refusal_on(host, gpus);
  return "";
}

}  // namespace muonbench
