// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/topology/rank_grid.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

// The errors that these types exist to forbid.
static_assert(!std::is_convertible_v<GtpRank, TpRank> && !std::is_convertible_v<TpRank, GtpRank>);
static_assert(!std::is_convertible_v<WorldRank, GroupRank> && !std::is_convertible_v<GroupRank, WorldRank>);
static_assert(!std::is_convertible_v<int, WorldRank> && !std::is_convertible_v<WorldRank, int>);
static_assert(!std::is_convertible_v<Elements, Bytes> && !std::is_convertible_v<std::int64_t, Bytes>);
static_assert(!std::is_constructible_v<DomainPlace, TpRank, GtpRank>);

constexpr AxisSet::Axis kAxes[] = {AxisSet::kTp, AxisSet::kGtpRemat, AxisSet::kDp};

// 48 ranks: dense tp 2 x gtp_remat 3 x dp 4 x pp 2; expert tp 1 x ep 4 x gtp_remat 3 x (expert dp 2) x pp 2.
GridShape both_grids() {
  return GridShape{.tp = 2, .gtp_remat = 3, .dp = 4, .pp = 2, .ep = 4, .expert_tp = 1, .expert_gtp_remat = 3};
}

struct Axes {
  int pp, dp, g, ep, t;
};
void expect_axes(const Coordinates& got, const Axes& expected, int rank) {
  EXPECT_EQ(got.pp, expected.pp) << rank;
  EXPECT_EQ(got.dp, expected.dp) << rank;
  EXPECT_EQ(got.place.g, GtpRank(expected.g)) << rank;
  EXPECT_EQ(got.ep, expected.ep) << rank;
  EXPECT_EQ(got.place.t, TpRank(expected.t)) << rank;
}

TEST(RankGrid, DenseRanksCountTpFastestThenGtpRematThenDpThenPp) {
  const RankGrid grid(both_grids());
  int rank = 0;
  for (int pp = 0; pp < 2; ++pp)
    for (int dp = 0; dp < 4; ++dp)
      for (int g = 0; g < 3; ++g)
        for (int t = 0; t < 2; ++t, ++rank) {
          expect_axes(grid.coordinates(Family::kDense, WorldRank(rank)), {pp, dp, g, 0, t}, rank);
          EXPECT_EQ(grid.rank_at(Family::kDense, {{GtpRank(g), TpRank(t)}, 0, dp, pp}), WorldRank(rank));
        }
  EXPECT_EQ(grid.world_size(), rank);
}

TEST(RankGrid, ExpertRanksCountTpFastestThenEpThenGtpRematThenDpThenPp) {
  GridShape shape = both_grids();
  shape.expert_tp = 2;
  shape.ep = 2;
  const RankGrid grid(shape);
  int rank = 0;
  for (int pp = 0; pp < 2; ++pp)
    for (int dp = 0; dp < 2; ++dp)
      for (int g = 0; g < 3; ++g)
        for (int ep = 0; ep < 2; ++ep)
          for (int t = 0; t < 2; ++t, ++rank) {
            expect_axes(grid.coordinates(Family::kExpert, WorldRank(rank)), {pp, dp, g, ep, t}, rank);
            EXPECT_EQ(grid.rank_at(Family::kExpert, {{GtpRank(g), TpRank(t)}, ep, dp, pp}), WorldRank(rank));
          }
  EXPECT_EQ(grid.world_size(), rank);
  EXPECT_EQ(grid.data_parallel(Family::kExpert), 2);
  EXPECT_EQ(grid.data_parallel(Family::kDense), 4);
}

TEST(RankGrid, PipelineStagesOfBothGridsAreTheSameRanks) {
  const RankGrid grid(both_grids());
  for (int r = 0; r < grid.world_size(); ++r)
    EXPECT_EQ(grid.coordinates(Family::kDense, WorldRank(r)).pp,
              grid.coordinates(Family::kExpert, WorldRank(r)).pp);
}

TEST(RankGrid, GroupsOfEveryAxisSetPartitionTheWorldInAscendingOrder) {
  const RankGrid grid(both_grids());
  for (const Family family : {Family::kDense, Family::kExpert}) {
    for (const AxisSet axes : all_axis_sets()) {
      const GroupKey key{family, axes};
      std::set<std::vector<WorldRank>> groups;
      for (int r = 0; r < grid.world_size(); ++r) {
        const std::vector<WorldRank> members = grid.members(key, WorldRank(r));
        groups.insert(members);
        EXPECT_TRUE(std::is_sorted(members.begin(), members.end())) << name_of(key) << " of " << r;
        ASSERT_EQ(static_cast<int>(members.size()), grid.group_size(key)) << name_of(key);
        const int mine = grid.index_in_group(key, WorldRank(r)).value();
        EXPECT_EQ(members.at(static_cast<std::size_t>(mine)), WorldRank(r)) << name_of(key);
      }
      // Distinct groups that share no rank and cover all of them.
      EXPECT_EQ(static_cast<int>(groups.size()) * grid.group_size(key), grid.world_size()) << name_of(key);
    }
  }
}

TEST(RankGrid, MembersDifferOnTheAxesOfTheirSetAlone) {
  const RankGrid grid(both_grids());
  for (const Family family : {Family::kDense, Family::kExpert}) {
    for (const AxisSet axes : all_axis_sets()) {
      for (int r = 0; r < grid.world_size(); ++r) {
        const Coordinates mine = grid.coordinates(family, WorldRank(r));
        for (const WorldRank other : grid.members({family, axes}, WorldRank(r))) {
          const Coordinates at = grid.coordinates(family, other);
          EXPECT_EQ(at.pp, mine.pp);
          EXPECT_EQ(at.ep, mine.ep);
          EXPECT_TRUE(axes.has(AxisSet::kDp) || at.dp == mine.dp);
          EXPECT_TRUE(axes.has(AxisSet::kGtpRemat) || at.place.g == mine.place.g);
          EXPECT_TRUE(axes.has(AxisSet::kTp) || at.place.t == mine.place.t);
        }
      }
    }
  }
}

std::vector<WorldRank> ranks(const std::vector<int>& values) {
  std::vector<WorldRank> all;
  for (const int value : values) all.emplace_back(value);
  return all;
}

TEST(RankGrid, TpPeersAreAdjacentAndGtpRematPeersTpApart) {
  const RankGrid grid(GridShape{.tp = 2, .gtp_remat = 4});
  EXPECT_EQ(grid.members({Family::kDense, {AxisSet::kTp}}, WorldRank(5)), ranks({4, 5}));
  EXPECT_EQ(grid.members({Family::kDense, {AxisSet::kGtpRemat}}, WorldRank(5)), ranks({1, 3, 5, 7}));
  EXPECT_EQ(grid.members({Family::kDense, {AxisSet::kTp, AxisSet::kGtpRemat}}, WorldRank(5)),
            ranks({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(RankGrid, GtpRematPeersOfAnExpertAreExpertTpTimesEpApart) {
  const RankGrid grid(GridShape{.tp = 2, .gtp_remat = 8, .ep = 4, .expert_tp = 2, .expert_gtp_remat = 2});
  EXPECT_EQ(grid.members({Family::kExpert, {AxisSet::kGtpRemat}}, WorldRank(3)), ranks({3, 11}));
  EXPECT_EQ(grid.members({Family::kExpert, {AxisSet::kTp, AxisSet::kGtpRemat}}, WorldRank(3)),
            ranks({2, 3, 10, 11}));
}

TEST(RankGrid, CanonicalKeysDropAxesOfOneRankAndNothingElse) {
  const RankGrid grid(GridShape{.tp = 1, .gtp_remat = 4, .dp = 2});
  for (const AxisSet axes : all_axis_sets()) {
    const GroupKey key = grid.canonical({Family::kDense, axes});
    EXPECT_EQ(grid.members(key, WorldRank(6)), grid.members({Family::kDense, axes}, WorldRank(6)));
    for (const AxisSet::Axis axis : kAxes)
      EXPECT_EQ(key.axes.has(axis), axes.has(axis) && axis != AxisSet::kTp)
          << name_of({Family::kDense, axes});
  }
}

TEST(RankGrid, RefusesAnExpertGridThatDoesNotDivideTheWorld) {
  try {
    const RankGrid grid(GridShape{.tp = 2, .gtp_remat = 3, .dp = 1, .pp = 1, .ep = 4});
    FAIL() << "6 ranks cannot hold 4 ep ranks";
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    for (const char* part : {"world size 6", "tp(2)", "gtp_remat(3)", "ep(4)", "= 4"})
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
}

TEST(RankGrid, NamesGroupsByTheirAxes) {
  EXPECT_EQ(name_of({Family::kDense, {AxisSet::kGtpRemat}}), "gtp_remat");
  EXPECT_EQ(name_of({Family::kDense, {AxisSet::kTp, AxisSet::kGtpRemat}}), "gtp_remat x tp");
  EXPECT_EQ(name_of({Family::kExpert, {AxisSet::kTp}}), "expert tp");
}

}  // namespace
}  // namespace muonbench
