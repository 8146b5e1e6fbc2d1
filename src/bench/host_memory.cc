// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/host_memory.h"

#include <algorithm>
#include <map>

#include "src/base/error.h"
#include "src/bench/environment.h"
#include "src/bench/wire.h"

namespace muonbench {
namespace {

MemoryClaim claim_of(const Mode& mode, const StepInputs& inputs, const RankContext& context) {
  const MemoryLedger ledger = ledger_of(build_program(mode, inputs, context.rank, Order::kLeftOut));
  MemoryClaim claim;
  for (std::size_t i = 0; i < claim.by_use.size(); ++i) claim.by_use[i] = ledger.of(kAllMemoryUses[i]);
  const Capabilities device = context.device.capabilities();
  if (device.pci)
    claim.available = device.memory_bytes;
  else if (const auto left = available_memory_bytes())
    claim.available = *left;
  return claim;
}

std::string memory_of(const DeviceInfo& device) {
  return device.pci ? text("device {} of host {}", *device.pci, device.host) : text("host {}", device.host);
}

MemoryUse largest_use(const BytesByUse& bytes) {
  return kAllMemoryUses[static_cast<std::size_t>(std::max_element(bytes.begin(), bytes.end()) -
                                                 bytes.begin())];
}

/// All that is asked of one memory.
struct Demand {
  int ranks = 0;
  Bytes asked;
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::size_t heaviest = 0;  ///< rank
};

}  // namespace

Bytes MemoryClaim::total() const {
  Bytes sum;
  for (const Bytes bytes : by_use) sum += bytes;
  return sum;
}

std::optional<std::string> memory_refusal(const std::vector<std::string>& memories,
                                          const std::vector<MemoryClaim>& claims) {
  std::map<std::string, Demand> demands;
  for (std::size_t r = 0; r < claims.size(); ++r) {
    Demand& demand = demands[memories[r]];
    if (demand.ranks++ == 0 || claims[r].total() > claims[demand.heaviest].total()) demand.heaviest = r;
    demand.asked += claims[r].total();
    demand.available = std::min(demand.available, claims[r].available);
  }
  for (const auto& [memory, demand] : demands) {
    if (demand.asked <= Bytes(demand.available)) continue;
    const MemoryClaim& heaviest = claims[demand.heaviest];
    const MemoryUse use = largest_use(heaviest.by_use);
    return text(
        "out of memory on {}: {} rank{} there ask{} for {} bytes, {} bytes available; the heaviest, rank {}, "
        "asks for {} bytes, by use: {}; what would shrink {}: {}",
        memory, demand.ranks, demand.ranks == 1 ? "" : "s", demand.ranks == 1 ? "s" : "",
        demand.asked.value(), demand.available, demand.heaviest, heaviest.total().value(),
        described(heaviest.by_use), name_of(use), remedy_for(use));
  }
  return std::nullopt;
}

void require_memory(const std::vector<std::string>& modes, const StepInputs& inputs,
                    const std::vector<DeviceInfo>& devices, RankContext& context) {
  std::vector<std::string> memories;
  memories.reserve(devices.size());
  for (const DeviceInfo& device : devices) memories.push_back(memory_of(device));
  for (const std::string& name : modes) {
    const std::vector<std::string> by_rank =
        context.control.gather(pack(std::vector{claim_of(mode_named(name), inputs, context)}));
    std::vector<MemoryClaim> claims;
    claims.reserve(by_rank.size());
    for (const std::string& bytes : by_rank) claims.push_back(unpack<MemoryClaim>(bytes).front());
    if (const auto refusal = memory_refusal(memories, claims))
      throw RuntimeFailure(text("mode {}: {}", name, *refusal));
  }
  context.control.barrier();
}

}  // namespace muonbench
