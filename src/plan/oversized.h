// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "src/ns/ns_options.h"
#include "src/plan/homes.h"

namespace muonbench {

/// A policy: one home, or none, for each candidate, as lpt_homes() has it.
using AssignHomes = std::function<std::vector<std::optional<Home>>(const std::vector<HomeCandidate>&)>;

/// Ways in which NS of a weight can be spread over its domain, the one with fewer ranks first: over a column,
/// where both axes split the weight, and over the domain, wherever anything does.
[[nodiscard]] std::vector<NsSpread> spreads_of(const ParamShardSpec& spec);

/// NS FLOPs of the rank that has most, and of the average one; replicated weights, which every rank runs,
/// left out.
struct NsShares {
  double fullest = 0.0;
  double mean = 0.0;
};
[[nodiscard]] NsShares ns_shares(const std::vector<HomeCandidate>& candidates,
                                 const std::vector<std::optional<Home>>& homes, DomainShape domain,
                                 const NsOptions& options);

/// Homes by `assign`, where weights too large for their share are spread if that shortens the step.
///
/// Too large: more NS FLOPs than the ranks of the domain have on average, all weights being whole; weights
/// that stay whole are left as they are. Those are spread kind by kind (of one shape, layout and split), the
/// largest first, as whole ones of that size would fill a rank as before; each kind in the way that leaves
/// the fullest rank least, the first of equals. Homes are assigned anew each time, by lpt_homes() so that the
/// others fill up what is free. Taken are the homes whose fullest rank has fewest FLOPs, counted on the rows
/// that each rank has, with the fewest kinds spread on a tie. FLOPs alone decide, as in mode auto. A function
/// of lists that are equal on all ranks of the domain.
[[nodiscard]] std::vector<std::optional<Home>> spread_oversized(std::vector<HomeCandidate> candidates,
                                                                DomainShape domain, const NsOptions& options,
                                                                const AssignHomes& assign);

}  // namespace muonbench
