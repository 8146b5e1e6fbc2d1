// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/oversized.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "src/base/stable_order.h"
#include "src/plan/distribution.h"

namespace muonbench {
namespace {

using Homes = std::vector<std::optional<Home>>;

/// NS FLOPs of each rank for what candidates alike in shape and layout take; looked at once for each kind, as
/// a list of thousands has a few.
class KindFlops {
 public:
  KindFlops(const HomeCandidate& example, DomainShape domain, const NsOptions& options)
      : example_(example),
        domain_(domain),
        options_(options),
        whole_(whole_flops(example.spec, example.split, options)) {}

  [[nodiscard]] double whole() const { return whole_; }
  /// By index in the domain; over a column those of the ranks of any column.
  [[nodiscard]] const std::vector<double>& spread(NsSpread spread) {
    const auto [found, is_new] = spread_.try_emplace(spread);
    if (is_new)
      if (const auto distribution = distribution_as(spread, example_.spec))
        for (int rank = 0; rank < domain_.size(); ++rank)
          found->second.push_back(distributed_flops_at(domain_.place_at(rank), example_.spec, example_.split,
                                                       *distribution, options_));
    return found->second;
  }
  [[nodiscard]] double fullest(NsSpread way) {
    const std::vector<double>& ranks = spread(way);
    return ranks.empty() ? whole_ : *std::max_element(ranks.begin(), ranks.end());
  }

 private:
  HomeCandidate example_;
  DomainShape domain_;
  const NsOptions& options_;
  double whole_;
  std::map<NsSpread, std::vector<double>> spread_;
};

class Oversized {
 public:
  Oversized(std::vector<HomeCandidate> candidates, DomainShape domain, const NsOptions& options)
      : candidates_(std::move(candidates)), domain_(domain) {
    std::map<std::tuple<ParamShardSpec, RowSplit, bool>, std::size_t> known;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const HomeCandidate& candidate = candidates_[i];
      const auto [kind, is_new] =
          known.try_emplace({candidate.spec, candidate.split, candidate.stays_whole}, flops_.size());
      if (is_new) {
        flops_.emplace_back(candidate, domain, options);
        members_.emplace_back();
      }
      kind_.push_back(kind->second);
      members_[kind->second].push_back(i);
    }
  }

  Homes decide(const AssignHomes& assign) {
    Homes best = assign(candidates_);
    const auto [fullest, share] = shares(best);
    double least = fullest;
    std::vector<std::size_t> later = oversized_kinds(share);
    while (!later.empty()) {
      const std::size_t kind = later.front();
      later.erase(later.begin());
      spread(kind, best_way(kind, later, assign));
      Homes homes = assign(candidates_);
      const double most = shares(homes).fullest;
      if (most >= least) continue;
      least = most;
      best = std::move(homes);
    }
    return best;
  }

  [[nodiscard]] NsShares shares(const Homes& homes) {
    std::vector<std::size_t> all(candidates_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return shares(all, homes);
  }

 private:
  /// Of some candidates, whose homes are given in their order.
  [[nodiscard]] NsShares shares(const std::vector<std::size_t>& some, const Homes& homes) {
    std::vector<double> ranks(static_cast<std::size_t>(domain_.size()));
    for (std::size_t n = 0; n < some.size(); ++n)
      if (homes[n]) add(*homes[n], flops_[kind_[some[n]]], ranks);
    double total = 0.0;
    for (const double flops : ranks) total += flops;
    return {*std::max_element(ranks.begin(), ranks.end()), total / domain_.size()};
  }

  void add(const Home& home, KindFlops& flops, std::vector<double>& ranks) const {
    const Range at_home = home.ranks_in(domain_);
    const std::vector<double>& spread = flops.spread(home.spread);
    for (std::int64_t rank = at_home.begin; rank < at_home.begin + at_home.count; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      ranks[at] += spread.empty() ? flops.whole() : spread[at];
    }
  }

  /// With more FLOPs than the share, largest first.
  [[nodiscard]] std::vector<std::size_t> oversized_kinds(double share) const {
    std::vector<std::size_t> found = stable_order(
        flops_.size(), [&](std::size_t a, std::size_t b) { return flops_[a].whole() > flops_[b].whole(); });
    std::erase_if(found, [&](std::size_t kind) {
      const HomeCandidate& candidate = candidates_[members_[kind].front()];
      return flops_[kind].whole() <= share || candidate.stays_whole || spreads_of(candidate.spec).empty();
    });
    return found;
  }

  /// What leaves the fullest rank least, the first of equals. Kinds that are still to be spread are left out:
  /// whole, each of them would fill a rank whatever becomes of this one.
  [[nodiscard]] NsSpread best_way(std::size_t kind, const std::vector<std::size_t>& later,
                                  const AssignHomes& assign) {
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (std::find(later.begin(), later.end(), kind_[i]) == later.end()) some.push_back(i);
    std::optional<double> least;
    NsSpread best = NsSpread::kNone;
    for (const NsSpread way : spreads_of(candidates_[members_[kind].front()].spec)) {
      spread(kind, way);
      std::vector<HomeCandidate> without;
      without.reserve(some.size());
      for (const std::size_t i : some) without.push_back(candidates_[i]);
      const double most = shares(some, assign(without)).fullest;
      if (least && *least <= most) continue;
      least = most;
      best = way;
    }
    return best;
  }

  /// Costs are in another unit than FLOPs, and keep the ratio.
  void spread(std::size_t kind, NsSpread way) {
    for (const std::size_t i : members_[kind]) {
      HomeCandidate& candidate = candidates_[i];
      candidate.spread = NsSpread::kNone;
      const double cost = static_cast<double>(candidate.ns_cost());
      candidate.spread = way;
      candidate.spread_cost = std::llround(cost * (flops_[kind].fullest(way) / flops_[kind].whole()));
    }
  }

  std::vector<HomeCandidate> candidates_;
  DomainShape domain_;
  std::vector<KindFlops> flops_;                   ///< by kind
  std::vector<std::vector<std::size_t>> members_;  ///< by kind: indices of candidates
  std::vector<std::size_t> kind_;                  ///< by candidate
};

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
  return Oversized(candidates, domain, options).shares(homes);
}

Homes spread_oversized(std::vector<HomeCandidate> candidates, DomainShape domain, const NsOptions& options,
                       const AssignHomes& assign) {
  return Oversized(std::move(candidates), domain, options).decide(assign);
}

}  // namespace muonbench
