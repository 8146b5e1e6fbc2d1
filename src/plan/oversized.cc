// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/oversized.h"

#include <cmath>
#include <utility>

#include "src/base/stable_order.h"
#include "src/plan/distribution.h"
#include "src/plan/home_loads.h"

namespace muonbench {
namespace {

using Homes = std::vector<std::optional<Home>>;

/// NS FLOPs of each rank that has the candidate, or a part of it.
double flops_of(const HomeCandidate& candidate, NsSpread spread, const NsOptions& options) {
  if (const auto distribution = distribution_as(spread, candidate.spec))
    return distributed_flops(candidate.spec, candidate.split, *distribution, options);
  return whole_flops(candidate.spec, candidate.split, options);
}

/// Costs are in another unit than FLOPs, and keep the ratio.
void spread_as(HomeCandidate& candidate, NsSpread spread, const NsOptions& options) {
  candidate.spread = NsSpread::kNone;
  const double cost = static_cast<double>(candidate.ns_cost());
  const double ratio = flops_of(candidate, spread, options) / flops_of(candidate, NsSpread::kNone, options);
  candidate.spread = spread;
  candidate.spread_cost = std::llround(cost * ratio);
}

/// Those with more FLOPs than the share, largest first.
std::vector<std::size_t> oversized(const std::vector<HomeCandidate>& candidates, double share,
                                   const NsOptions& options) {
  std::vector<double> flops;
  flops.reserve(candidates.size());
  for (const HomeCandidate& candidate : candidates)
    flops.push_back(flops_of(candidate, candidate.spread, options));
  std::vector<std::size_t> found =
      stable_order(candidates.size(), [&](std::size_t a, std::size_t b) { return flops[a] > flops[b]; });
  std::erase_if(found, [&](std::size_t i) { return flops[i] <= share; });
  return found;
}

}  // namespace

std::vector<NsSpread> spreads_of(const ParamShardSpec& spec) {
  switch (spec.sharding()) {
    case ParamSharding::kReplicated: return {};
    case ParamSharding::kGtpRemat:
    case ParamSharding::kTp: return {NsSpread::kDomain};
    case ParamSharding::kGtpRematAndTp: break;
  }
  return {NsSpread::kColumn, NsSpread::kDomain};
}

NsShares ns_shares(const std::vector<HomeCandidate>& candidates, const Homes& homes, DomainShape domain,
                   const NsOptions& options) {
  HomeLoads<double> flops(domain);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const auto& home = homes[i]) flops.add(*home, flops_of(candidates[i], home->spread, options));
  return {flops.most(), flops.total() / domain.size()};
}

Homes spread_oversized(std::vector<HomeCandidate> candidates, DomainShape domain, const NsOptions& options,
                       const AssignHomes& assign) {
  Homes best = assign(candidates);
  const auto [fullest, share] = ns_shares(candidates, best, domain, options);
  double least = fullest;
  for (const std::size_t i : oversized(candidates, share, options)) {
    std::optional<double> least_of_ways;
    NsSpread way = NsSpread::kNone;
    Homes homes;
    for (const NsSpread spread : spreads_of(candidates[i].spec)) {
      spread_as(candidates[i], spread, options);
      Homes found = assign(candidates);
      const double most = ns_shares(candidates, found, domain, options).fullest;
      if (least_of_ways && *least_of_ways <= most) continue;
      least_of_ways = most;
      way = spread;
      homes = std::move(found);
    }
    if (!least_of_ways) continue;
    spread_as(candidates[i], way, options);
    if (*least_of_ways >= least) continue;
    least = *least_of_ways;
    best = std::move(homes);
  }
  return best;
}

}  // namespace muonbench
