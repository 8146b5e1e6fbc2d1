// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/symmetric_tiles.h"

#include <cstdint>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench::cuda {
namespace {

constexpr int kMultiprocessors = 132;

TEST(SymmetricTiles, HoldEveryBoxOnOrBelowTheDiagonalOnce) {
  for (const std::int64_t side : {8, 64, 72, 128, 200, 256, 768, 1000, 2048, 2880, 4096, 7168})
    for (const std::int64_t batch : {1, 5, 64}) {
      const SymmetricTiles tiling = tile_symmetric(side, 1024, batch, kMultiprocessors);
      const TileBoxes boxes = tile_boxes(tiling.kernel);
      const std::int64_t box_rows = (side + kBoxSide - 1) / kBoxSide;
      std::map<std::pair<std::int64_t, std::int64_t>, int> held;
      for (const auto& tile : tiling.tiles) {
        std::int64_t stored = 0;
        for (std::int64_t row = tile.row * boxes.rows; row < (tile.row + 1) * boxes.rows; ++row)
          for (std::int64_t column = tile.column * boxes.columns; column < (tile.column + 1) * boxes.columns;
               ++column)
            if (column <= row && row < box_rows) {
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
  EXPECT_EQ(tile_symmetric(2048, 7168, 1, kMultiprocessors).kernel, SymmetricKernel::kTogether);
  EXPECT_EQ(tile_symmetric(2048, 7168, 32, kMultiprocessors).kernel, SymmetricKernel::kInTurns);
  EXPECT_EQ(tile_symmetric(4096, 4096, 1, kMultiprocessors).kernel, SymmetricKernel::kInTurns);
  EXPECT_EQ(tile_symmetric(768, 768, 64, kMultiprocessors).kernel, SymmetricKernel::kInTurns);
}

TEST(SymmetricTiles, AreAFunctionOfTheirProductAlone) {
  const SymmetricTiles once = tile_symmetric(2880, 2880, 3, kMultiprocessors);
  const SymmetricTiles again = tile_symmetric(2880, 2880, 3, kMultiprocessors);
  EXPECT_EQ(once.kernel, again.kernel);
  EXPECT_EQ(once.tiles, again.tiles);
}

TEST(SymmetricTiles, RefuseNothingToDo) {
  EXPECT_THROW(static_cast<void>(tile_symmetric(0, 8, 1, kMultiprocessors)), Error);
  EXPECT_THROW(static_cast<void>(tile_symmetric(8, 8, 1, 0)), Error);
}

}  // namespace
}  // namespace muonbench::cuda
