// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/shard/row_split.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace muonbench {
namespace {

/// Rows of each piece, one by one, as a run after run lists them.
std::vector<std::vector<std::int64_t>> listed(const std::vector<RowPiece>& pieces) {
  std::vector<std::vector<std::int64_t>> all;
  for (const RowPiece& piece : pieces) {
    std::vector<std::int64_t>& rows = all.emplace_back();
    for (const RowRuns& run : piece.runs)
      for (std::int64_t k = 0; k < run.count; ++k)
        for (std::int64_t row = 0; row < run.rows; ++row) rows.push_back(run.begin + k * run.stride + row);
    EXPECT_EQ(piece.rows(), static_cast<std::int64_t>(rows.size()));
  }
  return all;
}

TEST(RowSplit, GathersTheRowsOfAllGroupsByPiece) {
  // Two groups of q q k v.
  EXPECT_EQ(listed(RowSplit({2, 1, 1}).pieces_in({0, 8})),
            (std::vector<std::vector<std::int64_t>>{{0, 1, 4, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(RowSplit({2, 1, 1}).group(), 4);
  EXPECT_EQ(RowSplit({2, 1, 1}).matrices({8, 5}), (std::vector<Shape>{{4, 5}, {2, 5}, {2, 5}}));
}

TEST(RowSplit, LeavesAWholeMatrixTogether) {
  EXPECT_TRUE(RowSplit().is_whole());
  EXPECT_EQ(RowSplit().matrices({8, 5}), (std::vector<Shape>{{8, 5}}));
  EXPECT_EQ(listed(RowSplit().pieces_in({6, 3})), (std::vector<std::vector<std::int64_t>>{{0, 1, 2}}));
}

TEST(RowSplit, OfNoRowsHasNoPieces) {
  EXPECT_TRUE(RowSplit({2, 1, 1}).pieces_in({5, 0}).empty());
  EXPECT_TRUE(RowSplit().pieces_in({5, 0}).empty());
}

TEST(RowSplit, TakesAnyRowsByTheirPlaceInTheFullMatrix) {
  for (const std::vector<std::int64_t>& pieces :
       {std::vector<std::int64_t>{4, 1, 2}, std::vector<std::int64_t>{1, 1, 1}, {3, 3, 1, 1}}) {
    const RowSplit split(pieces);
    for (std::int64_t begin = 0; begin < 20; ++begin) {
      for (std::int64_t count = 0; count < 30; ++count) {
        std::map<std::size_t, std::vector<std::int64_t>> expected;
        for (std::int64_t row = begin; row < begin + count; ++row) {
          std::size_t piece = 0;
          std::int64_t rest = row % split.group();
          for (; rest >= pieces[piece]; ++piece) rest -= pieces[piece];
          expected[piece].push_back(row - begin);
        }
        std::vector<std::vector<std::int64_t>> in_order;
        for (const auto& [piece, rows] : expected) in_order.push_back(rows);
        ASSERT_EQ(listed(split.pieces_in({begin, count})), in_order) << begin << ", " << count;
      }
    }
  }
}

TEST(RowSplit, SaysWhichMatrixARowBelongsTo) {
  const RowSplit split({3, 1, 2});
  const Shape full{24, 5};
  const std::vector<std::int64_t> rows_of = {12, 12, 12, 4, 8, 8};
  for (std::int64_t row = 0; row < full.rows; ++row)
    EXPECT_EQ(split.matrix_of(row, full), (Shape{rows_of[static_cast<std::size_t>(row % 6)], 5})) << row;
  EXPECT_EQ(RowSplit().matrix_of(7, full), full);
}

TEST(RowSplit, NeedsThreeRunsOfAPieceAtMostHoweverManyGroupsThereAre) {
  const std::int64_t groups = std::int64_t{1} << 56;
  for (const RowPiece& piece : RowSplit({8, 2, 2}).pieces_in({5, groups * 12 - 7}))
    EXPECT_LE(piece.runs.size(), 3U);
  EXPECT_EQ(RowSplit({8, 2, 2}).matrices({groups * 12, 1}),
            (std::vector<Shape>{{groups * 8, 1}, {groups * 2, 1}, {groups * 2, 1}}));
}

}  // namespace
}  // namespace muonbench
