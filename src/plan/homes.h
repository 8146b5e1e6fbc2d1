// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/config/words.h"
#include "src/shard/row_split.h"
#include "src/shard/shard_spec.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Where the full matrix of one parameter meets NS. `t` is empty for a GTP_remat-only weight under T > 1 that
/// is at home in a whole column: every TP peer of column g runs the same NS.
struct Home {
  GtpRank g;
  std::optional<TpRank> t;
  friend auto operator<=>(const Home&, const Home&) = default;

  /// True if a rank at `place` runs NS on this parameter.
  [[nodiscard]] bool is_at(DomainPlace place) const { return g == place.g && (!t || *t == place.t); }
};

/// One entry of a domain's list: the grad-bearing Muon parameters of one param group in model order.
struct HomeCandidate {
  std::string name;
  ParamShardSpec spec;
  RowSplit split = {};

  /// Sum of ns_cost over the matrices that NS runs on.
  [[nodiscard]] std::int64_t ns_cost() const;
};

/// Homes by longest processing time: candidates sorted by NS cost, descending and stable, each to the bin (g,
/// t) with the least accumulated cost, ties to the lowest bin g * T + t. A GTP_remat-only weight under T > 1
/// that is at home in a column adds its cost to all T bins of it; it takes the column whose fullest bin is
/// least loaded, lowest g on ties. Replicated candidates get none.
///
/// `gtp_only` here and below: kColumn and kSingle hold for every GTP_remat-only weight. kAuto is one of them
/// for the whole list: homes are assigned both ways, and single ones are taken if their fullest bin is less
/// full; on a tie columns, which need no collective to spread results over tp.
[[nodiscard]] std::vector<std::optional<Home>> lpt_homes(const std::vector<HomeCandidate>& candidates,
                                                         DomainShape domain,
                                                         GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn);

/// Home (i mod G, 0), i = index in the list, replicated candidates counted too.
[[nodiscard]] std::vector<std::optional<Home>> round_robin_homes(
    const std::vector<HomeCandidate>& candidates, DomainShape domain,
    GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn);

/// NS cost of the rank that has most.
[[nodiscard]] double fullest_bin(const std::vector<HomeCandidate>& candidates,
                                 const std::vector<std::optional<Home>>& homes, DomainShape domain);

/// Throws ConfigError naming the key, the range and the home if it lies outside the domain.
void require_home_inside(const std::string& name, std::pair<int, int> home, DomainShape domain);

/// Homes as given by name, (g, t) range-checked (ConfigError naming parameter, got and range); candidates
/// absent from `homes` go round robin, and their names are returned for one warning.
struct ExplicitHomes {
  std::vector<std::optional<Home>> homes;
  std::vector<std::string> absent;
};
[[nodiscard]] ExplicitHomes explicit_homes(const std::vector<HomeCandidate>& candidates, DomainShape domain,
                                           const std::map<std::string, std::pair<int, int>>& homes,
                                           GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn);

}  // namespace muonbench
