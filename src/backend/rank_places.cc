// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/rank_places.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "src/base/text.h"

namespace muonbench {
namespace {

using RanksByGpu = std::map<std::string, std::vector<std::string>>;

std::string refusal_on(std::string_view transport, const std::string& host, const RanksByGpu& gpus) {
  std::size_t ranks = 0;
  std::vector<std::string> shared;
  for (const auto& [pci, sharers] : gpus) {
    ranks += sharers.size();
    if (sharers.size() > 1) shared.push_back(text("ranks {} share {}", join(sharers), pci));
  }
  return text(
      "run.transport: {} takes one rank per GPU, but host {} has {} ranks on {} {}: {}; mpi takes several "
      "ranks on one GPU",
      transport, host, ranks, gpus.size(), gpus.size() == 1 ? "GPU" : "GPUs", join(shared, "; "));
}

}  // namespace

std::string shared_gpu_refusal(std::string_view transport, const std::vector<RankPlace>& places) {
  std::map<std::string, RanksByGpu> hosts;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    hosts[places[rank].host][places[rank].pci].push_back(text("{}", rank));
  for (const auto& [host, gpus] : hosts)
    for (const auto& [pci, sharers] : gpus)
      if (sharers.size() > 1) return refusal_on(transport, host, gpus);
  return "";
}

std::string several_hosts_refusal(std::string_view transport, const std::vector<RankPlace>& places) {
  std::vector<std::string> hosts;
  for (const RankPlace& place : places)
    if (std::ranges::find(hosts, place.host) == hosts.end()) hosts.push_back(place.host);
  if (hosts.size() < 2) return "";
  return text(
      "run.transport: {} goes between GPUs of one host, but the ranks are on {}: {}; nccl goes between hosts",
      transport, hosts.size(), join(hosts));
}

}  // namespace muonbench
