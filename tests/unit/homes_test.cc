// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/homes.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

HomeCandidate candidate(const std::string& name, Shape shape, std::optional<int> tp_dim, bool gtp_remat,
                        DomainShape domain) {
  Parameter param;
  param.name = name;
  param.shape = shape;
  param.tp_dim = tp_dim;
  param.gtp_remat = gtp_remat;
  return {name, ParamShardSpec::from_param(param, domain, 16)};
}
HomeCandidate both(Shape shape, DomainShape domain) { return candidate("both", shape, 0, true, domain); }
HomeCandidate rows_only(Shape shape, DomainShape domain) {
  return candidate("rows", shape, {}, true, domain);
}
HomeCandidate split(HomeCandidate candidate, std::vector<std::int64_t> pieces) {
  candidate.split = RowSplit(std::move(pieces));
  return candidate;
}
HomeCandidate whole(Shape shape, DomainShape domain) { return candidate("whole", shape, {}, false, domain); }

std::vector<HomeCandidate> all_both(const std::vector<Shape>& shapes, DomainShape domain) {
  std::vector<HomeCandidate> all;
  for (const Shape& shape : shapes) all.push_back(both(shape, domain));
  return all;
}

std::optional<Home> home(int g, int t) { return Home{GtpRank(g), TpRank(t)}; }
std::optional<Home> column(int g) { return Home{GtpRank(g), std::nullopt}; }
using Homes = std::vector<std::optional<Home>>;

/// Sum of M * m^2 per rank, descending: every rank that is at home to a weight is charged.
std::vector<std::int64_t> loads(const std::vector<HomeCandidate>& candidates, const Homes& homes,
                                DomainShape domain) {
  std::vector<std::int64_t> load(static_cast<std::size_t>(domain.size()));
  for (int g = 0; g < domain.gtp_remat; ++g)
    for (int t = 0; t < domain.tp; ++t)
      for (std::size_t i = 0; i < homes.size(); ++i) {
        const Shape shape = candidates[i].spec.full_shape;
        const std::int64_t m = std::min(shape.rows, shape.cols);
        if (homes[i] && homes[i]->is_at({GtpRank(g), TpRank(t)}))
          load[static_cast<std::size_t>(g * domain.tp + t)] += shape.rows * shape.cols * m;
      }
  std::sort(load.rbegin(), load.rend());
  return load;
}

std::vector<int> counts(const Homes& homes, int ranks) {
  std::vector<int> count(static_cast<std::size_t>(ranks));
  for (const auto& one : homes) ++count.at(static_cast<std::size_t>(one->g.value()));
  std::sort(count.rbegin(), count.rend());
  return count;
}

TEST(Homes, LptReproducesTheWorkedExampleOfFourBins) {
  const DomainShape domain{2, 2};
  const auto candidates = all_both(
      {{4096, 4096}, {4096, 4096}, {11008, 4096}, {4096, 11008}, {1024, 4096}, {12288, 4096}}, domain);
  const Homes homes = lpt_homes(candidates, domain);
  EXPECT_EQ(homes, (Homes{home(1, 1), home(1, 1), home(0, 1), home(1, 0), home(1, 1), home(0, 0)}));
  EXPECT_EQ(loads(candidates, homes, domain),
            (std::vector<std::int64_t>{206158430208, 184683593728, 184683593728, 141733920768}));
}

TEST(Homes, LptBalancesNsCostWhereAllWeightsHaveEquallyManyElements) {
  const DomainShape domain{4, 1};
  const auto candidates = all_both(
      {{128, 128}, {8, 2048}, {8, 2048}, {64, 256}, {128, 128}, {8, 2048}, {64, 256}, {8, 2048}}, domain);
  EXPECT_EQ(loads(candidates, lpt_homes(candidates, domain), domain),
            (std::vector<std::int64_t>{2097152, 2097152, 1310720, 1310720}));
}

TEST(Homes, CountsThatRanksDoNotDivideDifferByAtMostOne) {
  const DomainShape eight{8, 1}, thirty_two{32, 1};
  EXPECT_EQ(counts(lpt_homes(all_both(std::vector<Shape>(19, {16, 16}), eight), eight), 8),
            (std::vector<int>{3, 3, 3, 2, 2, 2, 2, 2}));
  const std::vector<int> hundred =
      counts(lpt_homes(all_both(std::vector<Shape>(100, {16, 16}), thirty_two), thirty_two), 32);
  EXPECT_EQ(hundred.front(), 4);
  EXPECT_EQ(hundred.back(), 3);
  EXPECT_EQ(std::accumulate(hundred.begin(), hundred.end(), 0), 100);
}

TEST(Homes, LptBreaksTiesByListOrderAndLowestBin) {
  const DomainShape domain{2, 3};
  const auto candidates = all_both(std::vector<Shape>(7, {12, 12}), domain);
  const Homes expected{home(0, 0), home(0, 1), home(0, 2), home(1, 0), home(1, 1), home(1, 2), home(0, 0)};
  EXPECT_EQ(lpt_homes(candidates, domain), expected);
  EXPECT_EQ(lpt_homes(candidates, domain), lpt_homes(candidates, domain));
}

TEST(Homes, LptKeepsListOrderAmongManyTies) {
  const DomainShape domain{3, 2};
  std::vector<HomeCandidate> candidates(60, both({12, 12}, domain));
  const Homes homes = lpt_homes(candidates, domain);
  for (std::size_t i = 0; i < homes.size(); ++i) {
    const int bin = static_cast<int>(i) % 6;
    ASSERT_EQ(homes[i], home(bin / 2, bin % 2)) << i;
  }
}

TEST(Homes, LptChargesAWeightWithoutTpSplitToItsWholeColumn) {
  const DomainShape domain{2, 2};
  const std::vector<HomeCandidate> candidates = {
      both({10, 10}, domain),     // 1000 -> bin (0, 0)
      rows_only({8, 8}, domain),  // 512: fullest bins 1000 and 0 -> column 1
      both({6, 6}, domain),       // 216: loads 1000, 0 | 512, 512 -> (0, 1)
      rows_only({5, 5}, domain),  // 125: fullest 1000 and 512 -> column 1
      rows_only({4, 4}, domain),  // 64: fullest 1000 and 637 -> column 1
      both({2, 2}, domain),       // 8: loads 1000, 216 | 701, 701 -> (0, 1)
  };
  const Homes homes = lpt_homes(candidates, domain);
  EXPECT_EQ(homes, (Homes{home(0, 0), column(1), home(0, 1), column(1), column(1), home(0, 1)}));
  EXPECT_EQ(loads(candidates, homes, domain), (std::vector<std::int64_t>{1000, 701, 701, 224}));
}

TEST(Homes, OfOneRankAreChargedToItAlone) {
  const DomainShape domain{2, 2};
  const std::vector<HomeCandidate> candidates = {rows_only({8, 8}, domain), rows_only({8, 8}, domain),
                                                 both({8, 8}, domain), rows_only({8, 8}, domain)};
  EXPECT_EQ(lpt_homes(candidates, domain, GtpOnlyHomes::kSingle),
            (Homes{home(0, 0), home(0, 1), home(1, 0), home(1, 1)}));
  EXPECT_EQ(round_robin_homes(candidates, domain, GtpOnlyHomes::kSingle),
            (Homes{home(0, 0), home(1, 0), home(0, 0), home(1, 0)}));
  std::vector<HomeCandidate> named = candidates;
  named[0].name = "a";
  EXPECT_EQ(explicit_homes(named, domain, {{"a", {1, 1}}}, GtpOnlyHomes::kSingle).homes.front(), home(1, 1));
  EXPECT_EQ(explicit_homes(named, domain, {{"a", {1, 1}}}).homes.front(), column(1));
}

TEST(Homes, OfAutoAreSingleWhereThatMakesTheFullestBinLessFull) {
  const DomainShape domain{2, 2};
  const HomeCandidate rows = rows_only({8, 8}, domain), cut = both({8, 8}, domain);
  const auto as = [&](const std::vector<HomeCandidate>& candidates, GtpOnlyHomes one) {
    return lpt_homes(candidates, domain, one);
  };
  // Four of them: two in each of four bins by columns, one in each by ranks.
  const std::vector<HomeCandidate> four(4, rows);
  EXPECT_EQ(as(four, GtpOnlyHomes::kAuto), as(four, GtpOnlyHomes::kSingle));
  EXPECT_EQ(fullest_bin(four, as(four, GtpOnlyHomes::kAuto), domain), 512.0);
  EXPECT_EQ(fullest_bin(four, as(four, GtpOnlyHomes::kColumn), domain), 1024.0);
  // Two of them: one in each bin by columns, and no bin has less by ranks.
  const std::vector<HomeCandidate> two(2, rows), one = {rows}, none = {cut, cut};
  for (const auto& candidates : {two, one, none})
    EXPECT_EQ(as(candidates, GtpOnlyHomes::kAuto), as(candidates, GtpOnlyHomes::kColumn));
  const auto explicitly = explicit_homes(four, domain, {}, GtpOnlyHomes::kAuto);
  EXPECT_EQ(explicitly.homes, round_robin_homes(four, domain, GtpOnlyHomes::kAuto));
}

TEST(Homes, ColumnsThatAreEquallyFullGoToTheLowest) {
  const DomainShape domain{3, 2};
  const std::vector<HomeCandidate> candidates(4, rows_only({8, 8}, domain));
  EXPECT_EQ(lpt_homes(candidates, domain), (Homes{column(0), column(1), column(2), column(0)}));
}

TEST(LptHomes, ChargesAFusedWeightWithTheCostOfItsPieces) {
  const DomainShape domain{2, 1};
  // Whole, a square of 48 rows costs 48^3 = 110592 and three of 32 rows 3 * 32768 = 98304. In pieces of 24,
  // 12 and 12 rows it costs 48 * (24^2 + 2 * 12^2) = 41472, so that the others no longer stay together.
  const HomeCandidate square = both({48, 48}, domain), small = both({32, 32}, domain);
  EXPECT_EQ(square.ns_cost(), 110592);
  EXPECT_EQ(split(square, {2, 1, 1}).ns_cost(), 41472);
  EXPECT_EQ(lpt_homes({square, small, small, small}, domain),
            (Homes{home(0, 0), home(1, 0), home(1, 0), home(1, 0)}));
  EXPECT_EQ(lpt_homes({split(square, {2, 1, 1}), small, small, small}, domain),
            (Homes{home(0, 0), home(1, 0), home(1, 0), home(0, 0)}));
}

TEST(Homes, AWeightThatOnlyGtpRematSplitsHasOneHomeWhereThereAreNoTpPeers) {
  const DomainShape domain{4, 1};
  const std::vector<HomeCandidate> candidates(2, rows_only({8, 8}, domain));
  EXPECT_EQ(lpt_homes(candidates, domain), (Homes{home(0, 0), home(1, 0)}));
}

TEST(Homes, ReplicatedWeightsHaveNoneAndWeighNothing) {
  const DomainShape domain{2, 2};
  const std::vector<HomeCandidate> candidates = {whole({100, 100}, domain), both({8, 8}, domain),
                                                 whole({9, 9}, domain), both({8, 8}, domain)};
  EXPECT_EQ(lpt_homes(candidates, domain), (Homes{std::nullopt, home(0, 0), std::nullopt, home(0, 1)}));
}

TEST(Homes, RoundRobinCountsReplicatedWeightsToo) {
  const DomainShape domain{3, 2};
  const HomeCandidate routed = both({12, 12}, domain), replicated = whole({12, 12}, domain);
  EXPECT_EQ(round_robin_homes({routed, routed, routed, routed, routed}, domain),
            (Homes{home(0, 0), home(1, 0), home(2, 0), home(0, 0), home(1, 0)}));
  EXPECT_EQ(round_robin_homes({routed, replicated, routed, rows_only({12, 12}, domain), routed}, domain),
            (Homes{home(0, 0), std::nullopt, home(2, 0), column(0), home(1, 0)}));
}

TEST(Homes, ExplicitHomesStandAndAbsentNamesGoRoundRobin) {
  const DomainShape domain{3, 2};
  const std::vector<HomeCandidate> candidates = {
      candidate("a", {12, 12}, 0, true, domain), candidate("b", {12, 12}, 1, true, domain),
      candidate("c", {12, 12}, {}, true, domain), candidate("r", {12, 12}, {}, false, domain),
      candidate("e", {12, 12}, 0, true, domain)};
  const ExplicitHomes chosen =
      explicit_homes(candidates, domain, {{"b", {2, 1}}, {"c", {0, 1}}, {"r", {1, 1}}});
  // A column has no t, a replicated weight no home, whatever was asked for.
  EXPECT_EQ(chosen.homes, (Homes{home(0, 0), home(2, 1), column(0), std::nullopt, home(1, 0)}));
  EXPECT_EQ(chosen.absent, (std::vector<std::string>{"a", "e"}));
}

TEST(Homes, ExplicitHomesWithoutEntriesAreRoundRobin) {
  const DomainShape domain{2, 2};
  const std::vector<HomeCandidate> candidates(5, both({8, 8}, domain));
  EXPECT_EQ(explicit_homes(candidates, domain, {}).homes, round_robin_homes(candidates, domain));
  EXPECT_EQ(explicit_homes(candidates, domain, {}).absent.size(), 5U);
}

TEST(Homes, RefusesAHomeOutsideTheDomain) {
  const DomainShape domain{3, 2};
  for (const auto& [g, t] :
       {std::pair{3, 0}, std::pair{0, 2}, std::pair{-1, 0}, std::pair{0, -1}, std::pair{1, 3}}) {
    try {
      static_cast<void>(
          explicit_homes({candidate("ffn", {12, 12}, 0, true, domain)}, domain, {{"ffn", {g, t}}}));
      ADD_FAILURE() << g << ", " << t;
    } catch (const ConfigError& error) {
      const std::string message = error.what();
      const std::string got = "[" + std::to_string(g) + ", " + std::to_string(t) + "]";
      for (const std::string& part :
           {std::string("muon.homes.ffn"), std::string("0..2"), std::string("0..1"), got})
        EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
    }
  }
}

}  // namespace
}  // namespace muonbench
