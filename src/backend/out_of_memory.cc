// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/out_of_memory.h"

#include <vector>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {

std::string described(const BytesByUse& bytes) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] > Bytes(0)) parts.push_back(text("{} {}", name_of(kAllMemoryUses[i]), bytes[i].value()));
  return parts.empty() ? "nothing" : join(parts);
}

std::string_view remedy_for(MemoryUse use) {
  switch (use) {
    case MemoryUse::kWeights:
    case MemoryUse::kMaster:
    case MemoryUse::kMomentum:
    case MemoryUse::kGradient:
      return "more parallelism.tp, gtp_remat or pp, or ep for experts; fewer model.layers of a preset";
    case MemoryUse::kAdam:
      return "mode adam_dim0 in place of adam_replicated; more parallelism.tp, gtp_remat, dp or pp";
    case MemoryUse::kExchange:
      return "a larger domain, parallelism.gtp_remat x tp; more pp, or ep for experts";
    case MemoryUse::kNsScratch:
      return "a smaller muon.ns_batch_size; a larger domain, parallelism.gtp_remat x tp, with fewer homes on "
             "each rank";
  }
  return "";
}

void fail_allocation(MemoryUse use, Bytes asked, Bytes available, const BytesByUse& held) {
  throw RuntimeFailure(
      text("out of memory for {}: {} bytes asked for, {} bytes available; this rank holds, in bytes: {}; "
           "what would shrink {}: {}",
           name_of(use), asked.value(), available.value(), described(held), name_of(use), remedy_for(use)));
}

}  // namespace muonbench
