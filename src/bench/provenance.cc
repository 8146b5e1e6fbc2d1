// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <thread>

#include "src/base/text.h"
#include "src/bench/collect.h"
#include "src/bench/environment.h"

namespace muonbench {
namespace {

/// Cores that the ranks of this host may use together. The quota of a control group is known to a rank that
/// is bound to none of them alone.
int lent_cores(const Provenance& provenance) {
  const int bound = static_cast<int>(std::thread::hardware_concurrency());
  return bound >= provenance.local_cores ? std::min(usable_cores(), provenance.local_cores)
                                         : provenance.local_cores;
}

/// What a rank says of its host and device, a line each; names of hosts and devices hold no line ends.
std::string describe_rank(const Provenance& provenance, const Capabilities& device) {
  return text("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", host_name(), provenance.local_rank, lent_cores(provenance),
              device.threads, device.device_name, device.memory_bytes, device.pci.value_or(""));
}

struct RankDescription {
  DeviceInfo device;
  int cores = 0, threads = 1;
};

RankDescription parse_rank(const std::string& lines, int rank) {
  std::istringstream in(lines);
  in.imbue(std::locale::classic());
  const auto next = [&in] {
    std::string line;
    std::getline(in, line);
    return line;
  };
  RankDescription description;
  description.device.rank = rank;
  description.device.host = next();
  description.device.local_rank = std::stoi(next());
  description.cores = std::stoi(next());
  description.threads = std::stoi(next());
  description.device.name = next();
  description.device.memory_bytes = std::stoll(next());
  if (const std::string pci = next(); !pci.empty()) description.device.pci = pci;
  return description;
}

}  // namespace

CollectedEnvironment collect_environment(const Provenance& provenance, RankContext& context) {
  const Capabilities device = context.device.capabilities();
  CollectedEnvironment collected;
  EnvironmentInfo& info = collected.info;
  const std::vector<std::string> ranks = context.control.gather(describe_rank(provenance, device));
  if (context.control.rank() != 0) return collected;

  info.version = provenance.version;
  info.git_sha = provenance.git_sha;
  info.git_dirty = provenance.git_dirty;
  info.time = utc_time_now();
  info.blas_threads = device.threads;
  for (const char* name : {"mpi", "nccl", "cuda", "cublas", "blas", "compiler"})
    info.versions[name] = std::nullopt;
  for (const auto* versions : {&provenance.versions, &device.versions})
    for (const auto& [name, version] : *versions) info.versions[name] = version;

  std::map<std::string, int> cores;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankDescription rank = parse_rank(ranks[r], static_cast<int>(r));
    const std::string& host = rank.device.host;
    if (info.ranks_per_host[host]++ == 0) info.hosts.push_back(host);
    // Ranks may be bound to different cores of one host: the most that any of them may use.
    cores[host] = std::max(cores[host], rank.cores);
    collected.host_of_rank.push_back(host);
    info.devices.push_back(rank.device);
  }
  for (const auto& [host, count] : cores) {
    info.cores = info.cores == 0 ? count : std::min(info.cores, count);
    if (info.ranks_per_host[host] * device.threads > count) info.oversubscribed = true;
  }
  return collected;
}

std::string unlike_devices(const std::vector<DeviceInfo>& devices) {
  std::map<std::string, int> first_rank;
  for (const DeviceInfo& device : devices) first_rank.try_emplace(device.name, device.rank);
  if (first_rank.size() < 2) return {};
  std::string kinds;
  for (const auto& [name, rank] : first_rank)
    kinds += text("{}{} (rank {})", kinds.empty() ? "" : ", ", name, rank);
  return text("devices differ: {}; equal bits are promised among equal devices alone", kinds);
}

}  // namespace muonbench
