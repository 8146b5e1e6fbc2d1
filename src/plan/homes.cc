// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/homes.h"

#include <algorithm>
#include <numeric>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/ns/schedule.h"

namespace muonbench {
namespace {

/// A GTP_remat-only weight belongs to a whole column when there are TP peers to share it.
bool is_column(const ParamShardSpec& spec) {
  return spec.sharding() == ParamSharding::kGtpRemat && spec.domain.tp > 1;
}

Home home_at(const ParamShardSpec& spec, int g, int t) {
  return is_column(spec) ? Home{GtpRank(g), std::nullopt} : Home{GtpRank(g), TpRank(t)};
}

/// Accumulated cost of each bin (g, t).
class Bins {
 public:
  explicit Bins(DomainShape domain) : domain_(domain), load_(static_cast<std::size_t>(domain.size()), 0.0) {}

  Home take_bin(const ParamShardSpec& spec, double cost) {
    const auto least = std::min_element(load_.begin(), load_.end());  // the first of equals
    *least += cost;
    const int bin = static_cast<int>(least - load_.begin());
    return home_at(spec, bin / domain_.tp, bin % domain_.tp);
  }

  Home take_column(const ParamShardSpec& spec, double cost) {
    int best = 0;
    for (int g = 1; g < domain_.gtp_remat; ++g)
      if (fullest(g) < fullest(best)) best = g;
    for (auto bin = column(best); bin != column(best + 1); ++bin) *bin += cost;
    return home_at(spec, best, 0);
  }

 private:
  std::vector<double>::iterator column(int g) { return load_.begin() + std::ptrdiff_t{g} * domain_.tp; }
  double fullest(int g) { return *std::max_element(column(g), column(g + 1)); }

  DomainShape domain_;
  std::vector<double>
      load_;  // costs are integers; double sums of them are exact up to 2^53 and ordered beyond
};

}  // namespace

std::int64_t HomeCandidate::ns_cost() const {
  std::int64_t cost = 0;
  for (const Shape& matrix : split.matrices(spec.full_shape)) cost += muonbench::ns_cost(matrix);
  return cost;
}

std::vector<std::optional<Home>> lpt_homes(const std::vector<HomeCandidate>& candidates, DomainShape domain) {
  std::vector<std::int64_t> costs;
  costs.reserve(candidates.size());
  for (const HomeCandidate& candidate : candidates) costs.push_back(candidate.ns_cost());
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });

  std::vector<std::optional<Home>> homes(candidates.size());
  Bins bins(domain);
  for (const std::size_t i : order) {
    const ParamShardSpec& spec = candidates[i].spec;
    const double cost = static_cast<double>(costs[i]);
    switch (spec.sharding()) {
      case ParamSharding::kReplicated: break;
      case ParamSharding::kGtpRemat:
        homes[i] = is_column(spec) ? bins.take_column(spec, cost) : bins.take_bin(spec, cost);
        break;
      case ParamSharding::kTp:
      case ParamSharding::kGtpRematAndTp: homes[i] = bins.take_bin(spec, cost); break;
    }
  }
  return homes;
}

std::vector<std::optional<Home>> round_robin_homes(const std::vector<HomeCandidate>& candidates,
                                                   DomainShape domain) {
  std::vector<std::optional<Home>> homes(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const ParamShardSpec& spec = candidates[i].spec;
    if (spec.sharding() == ParamSharding::kReplicated) continue;
    homes[i] = home_at(spec, static_cast<int>(i % static_cast<std::size_t>(domain.gtp_remat)), 0);
  }
  return homes;
}

void require_home_inside(const std::string& name, std::pair<int, int> home, DomainShape domain) {
  const auto [g, t] = home;
  if (g >= 0 && g < domain.gtp_remat && t >= 0 && t < domain.tp) return;
  throw ConfigError(text("muon.homes.{}: expected [g, t] with g in 0..{} and t in 0..{}, got [{}, {}]", name,
                         domain.gtp_remat - 1, domain.tp - 1, g, t));
}

ExplicitHomes explicit_homes(const std::vector<HomeCandidate>& candidates, DomainShape domain,
                             const std::map<std::string, std::pair<int, int>>& homes) {
  ExplicitHomes result{round_robin_homes(candidates, domain), {}};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const HomeCandidate& candidate = candidates[i];
    const auto given = homes.find(candidate.name);
    if (given == homes.end()) {
      if (result.homes[i]) result.absent.push_back(candidate.name);
      continue;
    }
    require_home_inside(candidate.name, given->second, domain);
    const auto [g, t] = given->second;
    if (result.homes[i]) result.homes[i] = home_at(candidate.spec, g, t);
  }
  return result;
}

}  // namespace muonbench
