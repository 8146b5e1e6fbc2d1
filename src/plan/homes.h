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

/// How NS of one weight is spread over ranks of its domain, which add up Gram matrices then.
enum class NsSpread {
  kNone,    ///< not at all: a matrix meets NS whole
  kColumn,  ///< over the TP peers of the home column, each with its TP-local rows or columns
  kDomain,  ///< over all ranks: over gtp_remat, with a gather over tp first, or the axis that alone splits it
};

/// Where one parameter meets NS. `t` is empty for a GTP_remat-only weight under T > 1 that is at home in a
/// whole column, where every TP peer of column g runs the same NS, and for a weight that is spread; without
/// meaning in one spread over the domain: g.
struct Home {
  GtpRank g;
  std::optional<TpRank> t;
  NsSpread spread = NsSpread::kNone;
  friend auto operator<=>(const Home&, const Home&) = default;

  /// True if a rank at `place` runs NS on this parameter, or on a part of it.
  [[nodiscard]] bool is_at(DomainPlace place) const {
    return spread == NsSpread::kDomain || (g == place.g && (!t || *t == place.t));
  }
  /// Those ranks, by index in the domain.
  [[nodiscard]] Range ranks_in(DomainShape domain) const {
    if (spread == NsSpread::kDomain) return {0, domain.size()};
    return {domain.index_of({g, t.value_or(TpRank(0))}), t ? 1 : domain.tp};
  }
  /// False if none of its shards goes to a home.
  [[nodiscard]] bool is_routed() const { return spread != NsSpread::kDomain; }
  /// What each rank of the home puts together of a weight that is routed.
  [[nodiscard]] Shape matrix_of(const ParamShardSpec& spec) const {
    return spread == NsSpread::kColumn ? spec.tp_local_shape() : spec.full_shape;
  }
};

/// One entry of a domain's list: the grad-bearing Muon parameters of one param group in model order.
struct HomeCandidate {
  std::string name;
  ParamShardSpec spec;
  RowSplit split = {};
  bool stays_whole = false;  ///< its home is given
  NsSpread spread = NsSpread::kNone;
  std::int64_t spread_cost = 0;  ///< of each rank that NS is spread over

  /// Sum of ns_cost over the matrices that NS runs on; spread_cost if NS is spread.
  [[nodiscard]] std::int64_t ns_cost() const;
};

/// Homes by longest processing time: candidates sorted by NS cost, descending and stable, each to the bin (g,
/// t) with the least accumulated cost, ties to the lowest bin g * T + t. A GTP_remat-only weight under T > 1
/// that is at home in a column adds its cost to all T bins of it; it takes the column whose fullest bin is
/// least loaded, lowest g on ties. Replicated candidates get none. A weight that is spread over a column is
/// placed as one at home there, and one spread over the domain adds its cost to all bins.
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
