// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/state_layout.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace muonbench {
namespace {

std::vector<std::int64_t> counts(std::int64_t rows, int ranks) {
  std::vector<std::int64_t> all;
  for (int r = 0; r < ranks; ++r) all.push_back(deal_rows(rows, ranks, GroupRank(r)).count);
  return all;
}

TEST(StateLayout, DealsWholeRowsTheFirstRanksMost) {
  EXPECT_EQ(counts(50257, 8), (std::vector<std::int64_t>{6283, 6283, 6283, 6283, 6283, 6283, 6283, 6276}));
  EXPECT_EQ(counts(10, 4), (std::vector<std::int64_t>{3, 3, 3, 1}));
  EXPECT_EQ(counts(8, 4), (std::vector<std::int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(counts(9, 8), (std::vector<std::int64_t>{2, 2, 2, 2, 1, 0, 0, 0}));
  EXPECT_EQ(counts(1, 3), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(counts(0, 3), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(StateLayout, DealtRowsFollowOneAnotherWithoutGaps) {
  for (const std::int64_t rows : {0, 1, 5, 16, 17, 1000}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      std::int64_t next = 0;
      for (int r = 0; r < ranks; ++r) {
        const Range range = deal_rows(rows, ranks, GroupRank(r));
        EXPECT_TRUE(range.empty() || range.begin == next) << rows << " over " << ranks;
        next += range.count;
      }
      EXPECT_EQ(next, rows);
    }
  }
}

struct Case {
  Parameter param;
  GridShape shape;
  std::int64_t pad_for_alignment;
};

/// Every grid of up to 16 ranks with every way to tag parameters that need pads, do not, or are smaller than
/// the grid.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int g = 1; g <= 4; ++g)
    for (int t = 1; t <= 4; ++t)
      for (int dp = 1; dp <= 2; ++dp)
        for (const Shape shape : {Shape{24, 5}, Shape{12, 1}, Shape{120, 12}})
          for (const std::optional<int> tp_dim : {std::optional<int>(), std::optional(0)})
            for (const bool tagged : {true, false})
              for (const std::int64_t pad : {1, 16}) {
                Parameter param;
                param.shape = shape;
                param.tp_dim = tp_dim;
                param.gtp_remat = tagged;
                if (tp_dim && t > 1 && g > 1 && !tagged) continue;
                cases.push_back({param, GridShape{t, g, dp}, pad});
              }
  return cases;
}

std::string describe(const Case& c) {
  return testing::PrintToString(c.param.shape.rows) + " rows, tp_dim " +
         testing::PrintToString(c.param.tp_dim.value_or(-1)) + ", tagged " +
         testing::PrintToString(c.param.gtp_remat) + ", G " + testing::PrintToString(c.shape.gtp_remat) +
         ", T " + testing::PrintToString(c.shape.tp) + ", dp " + testing::PrintToString(c.shape.dp);
}

/// State rows of a rank, in rows of the full matrix, true rows only.
struct Kept {
  StateRows state;
  ShardExtent extent;
  std::int64_t cols = 0;
  [[nodiscard]] std::int64_t elements() const { return state.rows.count * cols; }
};
std::vector<Kept> kept_by_rank(const Case& c, StatePlacement placement) {
  const RankGrid grid(c.shape);
  const ParamShardSpec spec =
      ParamShardSpec::from_param(c.param, grid.domain(Family::kDense), c.pad_for_alignment);
  std::vector<Kept> all;
  for (int r = 0; r < grid.world_size(); ++r) {
    all.push_back({state_rows(spec, placement, Family::kDense, grid, WorldRank(r)),
                   spec.extent(grid.coordinates(Family::kDense, WorldRank(r)).place),
                   spec.shard_shape().cols});
  }
  return all;
}

TEST(StateLayout, AdamByRowsKeepsEveryTrueRowOnExactlyOneRank) {
  for (const Case& c : all_cases()) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> keepers;  // row, first column
    for (const Kept& kept : kept_by_rank(c, StatePlacement::kAdamByRows)) {
      ASSERT_TRUE(kept.state.counts) << describe(c);
      ASSERT_LE(kept.state.rows.end(), kept.extent.rows.count) << "a pad is kept; " << describe(c);
      for (std::int64_t r = 0; r < kept.state.rows.count; ++r)
        ++keepers[{kept.extent.rows.begin + kept.state.rows.begin + r, kept.extent.cols.begin}];
    }
    ASSERT_EQ(std::ssize(keepers), c.param.shape.rows) << describe(c);
    for (const auto& [place, count] : keepers) ASSERT_EQ(count, 1) << describe(c);
  }
}

TEST(StateLayout, AdamByRowsSumsExactlyToTheParameter) {
  for (const Case& c : all_cases()) {
    std::int64_t sum = 0;
    for (const Kept& kept : kept_by_rank(c, StatePlacement::kAdamByRows)) sum += kept.elements();
    ASSERT_EQ(sum, c.param.shape.elements().value()) << describe(c);
  }
}

TEST(StateLayout, NoRankHoldsMoreAdamStateThanItsSharePlusOneRowPerParam) {
  for (const Case& c : all_cases()) {
    const std::int64_t world = RankGrid(c.shape).world_size();
    for (const Kept& kept : kept_by_rank(c, StatePlacement::kAdamByRows)) {
      const double share = static_cast<double>(c.param.shape.elements().value()) / static_cast<double>(world);
      // Rows go to gtp_remat ranks in steps of the alignment.
      const std::int64_t extra = 1 + (c.param.gtp_remat && c.shape.gtp_remat > 1 ? c.pad_for_alignment : 0);
      ASSERT_LE(static_cast<double>(kept.elements()), share + static_cast<double>(extra * kept.cols))
          << describe(c);
    }
  }
}

TEST(StateLayout, AdamByRowsGroupsTheRanksThatHoldTheSameRows) {
  for (const Case& c : all_cases()) {
    const RankGrid grid(c.shape);
    const std::vector<Kept> all = kept_by_rank(c, StatePlacement::kAdamByRows);
    const ParamShardSpec spec =
        ParamShardSpec::from_param(c.param, grid.domain(Family::kDense), c.pad_for_alignment);
    for (int r = 0; r < grid.world_size(); ++r) {
      const Kept& mine = all[static_cast<std::size_t>(r)];
      // Ranks with another g or t hold other rows where that axis splits the parameter.
      std::set<WorldRank> same;
      const auto at = [&](int rank) { return grid.coordinates(Family::kDense, WorldRank(rank)).place; };
      for (int other = 0; other < grid.world_size(); ++other)
        if ((!spec.gtp_sharded || at(other).g == at(r).g) && (!spec.tp_dim || at(other).t == at(r).t))
          same.insert(WorldRank(other));
      const std::vector<WorldRank> group = grid.members(mine.state.group, WorldRank(r));
      ASSERT_EQ(std::set<WorldRank>(group.begin(), group.end()), same) << describe(c);
    }
  }
}

TEST(StateLayout, MuonStateCoversTheShardWithItsPadsAndOneReplicaCounts) {
  for (const Case& c : all_cases()) {
    std::int64_t counted = 0;
    for (const Kept& kept : kept_by_rank(c, StatePlacement::kWithShard)) {
      ASSERT_EQ(kept.state.rows, (Range{0, kept.extent.rows.count + kept.extent.pad_rows})) << describe(c);
      ASSERT_TRUE(kept.state.group.axes.empty());
      if (kept.state.counts) counted += kept.extent.rows.count * kept.cols;
    }
    ASSERT_EQ(counted, c.param.shape.elements().value()) << describe(c);
  }
}

TEST(StateLayout, ReplicatedAdamKeepsEveryTrueRowThatARankHolds) {
  for (const Case& c : all_cases()) {
    std::int64_t counted = 0;
    for (const Kept& kept : kept_by_rank(c, StatePlacement::kAdamReplicated)) {
      ASSERT_EQ(kept.state.rows, (Range{0, kept.extent.rows.count})) << describe(c);
      if (kept.state.counts) counted += kept.elements();
    }
    ASSERT_EQ(counted, c.param.shape.elements().value()) << describe(c);
  }
}

}  // namespace
}  // namespace muonbench
