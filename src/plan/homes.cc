// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/homes.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/stable_order.h"
#include "src/base/text.h"
#include "src/ns/schedule.h"
#include "src/plan/home_loads.h"

namespace muonbench {
namespace {

using Homes = std::vector<std::optional<Home>>;

/// What a weight is at home at.
enum class HomeExtent { kNowhere, kRank, kColumn, kDomain };

HomeExtent extent_of(const HomeCandidate& candidate, GtpOnlyHomes gtp_only) {
  switch (candidate.spread) {
    case NsSpread::kNone: break;
    case NsSpread::kColumn: return HomeExtent::kColumn;
    case NsSpread::kDomain: return HomeExtent::kDomain;
  }
  switch (candidate.spec.sharding()) {
    case ParamSharding::kReplicated: return HomeExtent::kNowhere;
    case ParamSharding::kGtpRemat:
      return gtp_only != GtpOnlyHomes::kSingle && candidate.spec.domain.tp > 1 ? HomeExtent::kColumn
                                                                               : HomeExtent::kRank;
    case ParamSharding::kTp:
    case ParamSharding::kGtpRematAndTp: break;
  }
  return HomeExtent::kRank;
}

std::optional<Home> home_at(const HomeCandidate& candidate, int g, int t, GtpOnlyHomes gtp_only) {
  switch (extent_of(candidate, gtp_only)) {
    case HomeExtent::kNowhere: break;
    case HomeExtent::kRank: return Home{GtpRank(g), TpRank(t)};
    case HomeExtent::kColumn: return Home{GtpRank(g), std::nullopt, candidate.spread};
    case HomeExtent::kDomain: return Home{GtpRank(0), std::nullopt, candidate.spread};
  }
  return std::nullopt;
}

/// What `assign` makes of `gtp_only`, where kAuto is decided by cost.
template <class Assign>
Homes assigned(const std::vector<HomeCandidate>& candidates, DomainShape domain, GtpOnlyHomes gtp_only,
               const Assign& assign) {
  if (gtp_only != GtpOnlyHomes::kAuto) return assign(gtp_only);
  Homes columns = assign(GtpOnlyHomes::kColumn), singles = assign(GtpOnlyHomes::kSingle);
  const bool less = fullest_bin(candidates, singles, domain) < fullest_bin(candidates, columns, domain);
  return less ? singles : columns;
}

/// Every rank of a domain, or every column, as a home.
std::vector<Home> single_homes(DomainShape domain) {
  std::vector<Home> homes;
  homes.reserve(static_cast<std::size_t>(domain.size()));
  for (int bin = 0; bin < domain.size(); ++bin)
    homes.push_back({domain.place_at(bin).g, domain.place_at(bin).t});
  return homes;
}
std::vector<Home> column_homes(DomainShape domain) {
  std::vector<Home> homes;
  homes.reserve(static_cast<std::size_t>(domain.gtp_remat));
  for (int g = 0; g < domain.gtp_remat; ++g) homes.push_back({GtpRank(g), std::nullopt});
  return homes;
}

/// Costs are integers; double sums of them are exact up to 2^53 and ordered beyond.
using Costs = HomeLoads<double>;

/// The least loaded of `homes`, the first of equals; `cost` is added there.
Home take(Costs& costs, const std::vector<Home>& homes, double cost) {
  const Home least = *std::min_element(
      homes.begin(), homes.end(), [&](const Home& a, const Home& b) { return costs.at(a) < costs.at(b); });
  costs.add(least, cost);
  return least;
}

Homes lpt(const std::vector<HomeCandidate>& candidates, DomainShape domain, GtpOnlyHomes gtp_only) {
  std::vector<std::int64_t> costs;
  costs.reserve(candidates.size());
  for (const HomeCandidate& candidate : candidates) costs.push_back(candidate.ns_cost());
  const std::vector<std::size_t> order =
      stable_order(costs.size(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });

  Homes homes(candidates.size());
  Costs taken(domain);
  const std::vector<Home> singles = single_homes(domain), columns = column_homes(domain);
  const std::vector<Home> whole = {{GtpRank(0), std::nullopt, NsSpread::kDomain}};
  for (const std::size_t i : order) {
    const double cost = static_cast<double>(costs[i]);
    switch (extent_of(candidates[i], gtp_only)) {
      case HomeExtent::kNowhere: break;
      case HomeExtent::kRank: homes[i] = take(taken, singles, cost); break;
      case HomeExtent::kColumn: homes[i] = take(taken, columns, cost); break;
      case HomeExtent::kDomain: homes[i] = take(taken, whole, cost); break;
    }
    if (homes[i]) homes[i]->spread = candidates[i].spread;
  }
  return homes;
}

Homes round_robin(const std::vector<HomeCandidate>& candidates, DomainShape domain, GtpOnlyHomes gtp_only) {
  Homes homes(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i)
    homes[i] =
        home_at(candidates[i], static_cast<int>(i % static_cast<std::size_t>(domain.gtp_remat)), 0, gtp_only);
  return homes;
}

}  // namespace

std::int64_t HomeCandidate::ns_cost() const {
  if (spread != NsSpread::kNone) return spread_cost;
  std::int64_t cost = 0;
  for (const Shape& matrix : split.matrices(spec.full_shape)) cost += muonbench::ns_cost(matrix);
  return cost;
}

double fullest_bin(const std::vector<HomeCandidate>& candidates, const Homes& homes, DomainShape domain) {
  Costs costs(domain);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (homes[i]) costs.add(*homes[i], static_cast<double>(candidates[i].ns_cost()));
  return costs.most();
}

std::vector<std::optional<Home>> lpt_homes(const std::vector<HomeCandidate>& candidates, DomainShape domain,
                                           GtpOnlyHomes gtp_only) {
  return assigned(candidates, domain, gtp_only,
                  [&](GtpOnlyHomes one) { return lpt(candidates, domain, one); });
}

std::vector<std::optional<Home>> round_robin_homes(const std::vector<HomeCandidate>& candidates,
                                                   DomainShape domain, GtpOnlyHomes gtp_only) {
  return assigned(candidates, domain, gtp_only,
                  [&](GtpOnlyHomes one) { return round_robin(candidates, domain, one); });
}

void require_home_inside(const std::string& name, std::pair<int, int> home, DomainShape domain) {
  const auto [g, t] = home;
  if (g >= 0 && g < domain.gtp_remat && t >= 0 && t < domain.tp) return;
  throw ConfigError(text("muon.homes.{}: expected [g, t] with g in 0..{} and t in 0..{}, got [{}, {}]", name,
                         domain.gtp_remat - 1, domain.tp - 1, g, t));
}

ExplicitHomes explicit_homes(const std::vector<HomeCandidate>& candidates, DomainShape domain,
                             const std::map<std::string, std::pair<int, int>>& homes, GtpOnlyHomes gtp_only) {
  ExplicitHomes result;
  for (const HomeCandidate& candidate : candidates) {
    const auto given = homes.find(candidate.name);
    if (given != homes.end())
      require_home_inside(candidate.name, given->second, domain);
    else if (candidate.spec.sharding() != ParamSharding::kReplicated)
      result.absent.push_back(candidate.name);
  }
  result.homes = assigned(candidates, domain, gtp_only, [&](GtpOnlyHomes one) {
    Homes found = round_robin(candidates, domain, one);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto given = homes.find(candidates[i].name);
      if (given == homes.end() || !found[i]) continue;
      found[i] = home_at(candidates[i], given->second.first, given->second.second, one);
    }
    return found;
  });
  return result;
}

}  // namespace muonbench
