// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/symmetric_tiles.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench::cuda {
namespace {

constexpr int kMultiprocessors = 132;

constexpr SymmetricKernel kBoth[] = {SymmetricKernel::kInTurns, SymmetricKernel::kTogether};

TEST(SymmetricTiles, HoldEveryBoxOnOrBelowTheDiagonalOnce) {
  for (const SymmetricKernel kernel : kBoth)
    for (const std::int64_t side : {8, 64, 72, 128, 200, 256, 768, 1000, 2048, 2880, 4096, 7168}) {
      const SymmetricTiles tiling = tile_symmetric(kernel, side);
      EXPECT_EQ(tiling.kernel, kernel);
      const TileBoxes boxes = tile_boxes(kernel);
      const std::int64_t box_rows = (side + kBoxSide - 1) / kBoxSide;
      std::map<std::pair<std::int64_t, std::int64_t>, int> held;
      for (const auto& tile : tiling.tiles) {
        const std::int64_t first_row = std::int64_t{tile.row} * boxes.rows;
        const std::int64_t first_column = std::int64_t{tile.column} * boxes.columns;
        std::int64_t stored = 0;
        for (std::int64_t row = first_row; row < std::min(first_row + boxes.rows, box_rows); ++row)
          for (std::int64_t column = first_column; column <= std::min(row, first_column + boxes.columns - 1);
               ++column) {
            ++held[{row, column}];
            ++stored;
          }
        EXPECT_GT(stored, 0) << "an empty tile: " << tile.row << ", " << tile.column;
      }
      EXPECT_EQ(std::ssize(held), box_rows * (box_rows + 1) / 2) << side;
      for (const auto& [box, times] : held)
        EXPECT_EQ(times, 1) << side << ": " << box.first << ", " << box.second;
    }
}

TEST(SymmetricTiles, AreWiderWhereTooFewWouldTakeTurns) {
  // 136 tiles of 128 x 128 on 132 multiprocessors would take two rounds.
  EXPECT_EQ(choose_kernel(2048, 7168, 1, kMultiprocessors), SymmetricKernel::kTogether);
  EXPECT_EQ(choose_kernel(2048, 7168, 32, kMultiprocessors), SymmetricKernel::kInTurns);
  EXPECT_EQ(choose_kernel(4096, 4096, 1, kMultiprocessors), SymmetricKernel::kInTurns);
  EXPECT_EQ(choose_kernel(768, 768, 64, kMultiprocessors), SymmetricKernel::kInTurns);
}

TEST(SymmetricTiles, RefuseNothingToDo) {
  for (const SymmetricKernel kernel : kBoth)
    EXPECT_THROW(static_cast<void>(tile_symmetric(kernel, 0)), Error);
  EXPECT_THROW(static_cast<void>(choose_kernel(8, 8, 1, 0)), Error);
}

}  // namespace
}  // namespace muonbench::cuda
