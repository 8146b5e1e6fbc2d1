// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/rank_costs.h"

#include <cstddef>

#include "src/config/words.h"

namespace muonbench {
namespace {

MemoryInfo memory_info(const MemoryLedger& ledger) {
  MemoryInfo info;
  info.weights_bytes = ledger.of(MemoryUse::kWeights).value();
  info.master_bytes = ledger.of(MemoryUse::kMaster).value();
  info.momentum_bytes = ledger.of(MemoryUse::kMomentum).value();
  info.adam_bytes = ledger.of(MemoryUse::kAdam).value();
  info.pad_bytes = ledger.pads.value();
  info.gradient_bytes = ledger.of(MemoryUse::kGradient).value();
  info.exchange_bytes = ledger.of(MemoryUse::kExchange).value();
  info.ns_scratch_bytes = ledger.of(MemoryUse::kNsScratch).value();
  info.state_bytes = ledger.state().value();
  info.peak_bytes = ledger.peak().value();
  return info;
}

}  // namespace

RankCosts costs_of(const StepProgram& program, const RankGrid& grid, WorldRank rank) {
  return RankCosts{memory_info(ledger_of(program)), count_step(program, grid, rank)};
}

std::map<std::string, std::int64_t> calls_by_algorithm(const std::vector<RankCosts>& costs) {
  std::map<std::string, std::int64_t> calls;
  for (const RankCosts& one : costs)
    for (std::size_t i = 0; i < one.counts.ns_calls_by.size(); ++i)
      calls[std::string(name_in(kNsAlgorithmNames, static_cast<NsAlgorithm>(i)))] +=
          one.counts.ns_calls_by.at(i);
  return calls;
}

}  // namespace muonbench
