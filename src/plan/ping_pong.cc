// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/ping_pong.h"

#include "src/base/check.h"
#include "src/base/stable_order.h"

namespace muonbench {

std::vector<GroupRank> ping_pong(const std::vector<Elements>& sizes, int ranks) {
  MUONBENCH_CHECK(ranks > 0, "{} ranks", ranks);
  const std::vector<std::size_t> order =
      stable_order(sizes.size(), [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });

  std::vector<GroupRank> rank_of(sizes.size());
  const auto count = static_cast<std::size_t>(ranks);
  for (std::size_t visit = 0; visit < order.size(); ++visit) {
    const std::size_t at = visit % (2 * count);
    rank_of[order[visit]] = GroupRank(static_cast<int>(at < count ? at : 2 * count - 1 - at));
  }
  return rank_of;
}

}  // namespace muonbench
