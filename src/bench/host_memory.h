// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/backend/out_of_memory.h"
#include "src/bench/mode_run.h"
#include "src/bench/result.h"

namespace muonbench {

/// What one rank will hold at once, and what there is for it and all who share the memory.
struct MemoryClaim {
  BytesByUse by_use{};
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] Bytes total() const;
};

/// One line if the claims on some memory are more than it has: where, how many ranks, bytes asked for by use
/// of the heaviest rank, bytes available, and what would help. `memories` names the memory of each rank;
/// ranks with equal names share it.
[[nodiscard]] std::optional<std::string> memory_refusal(const std::vector<std::string>& memories,
                                                        const std::vector<MemoryClaim>& claims);

/// Before anything is allocated: ranks that each fit, but not together, would be killed one after the other.
/// Collective; throws RuntimeFailure on rank 0 alone, before any rank returns. A host's memory is what the
/// machine has left, a device's with memory of its own all of it. `devices`: of each rank, on rank 0.
void require_memory(const std::vector<std::string>& modes, const StepInputs& inputs,
                    const std::vector<DeviceInfo>& devices, RankContext& context);

}  // namespace muonbench
