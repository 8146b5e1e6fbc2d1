// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "src/backend/cuda/pieces.h"
#include "src/backend/merge_rows.h"

namespace muonbench::cuda {
namespace {

BoundTile tile(Shape shape, std::int64_t src_stride, std::int64_t dst_stride) {
  BoundTile made;
  made.shape = shape;
  made.src_stride = src_stride;
  made.dst_stride = dst_stride;
  return made;
}

TEST(CudaPieces, CoverEveryItemOnceAndSkipEmptyOnes) {
  const std::vector<std::int64_t> sizes = {1, 0, 100, 101, 99, 350};
  std::vector<std::int64_t> covered(sizes.size());
  for (const Piece& piece : cut_into_pieces(sizes, 100)) {
    const auto item = static_cast<std::size_t>(piece.item);
    // In order, so that a piece begins where the ones before it ended.
    EXPECT_EQ(covered[item], piece.index * std::int64_t{100});
    covered[item] += std::min<std::int64_t>(100, sizes[item] - piece.index * std::int64_t{100});
  }
  EXPECT_EQ(covered, sizes);
  EXPECT_TRUE(cut_into_pieces({}, 100).empty());
}

TEST(CudaPieces, OfTilesCoverEveryElementOnce) {
  for (const Shape shape :
       {Shape{1, 1}, Shape{7, 3}, Shape{3, 250}, Shape{1, 1000}, Shape{300, 1}, Shape{2, 100}}) {
    std::vector<int> copies(static_cast<std::size_t>(shape.rows * shape.cols));
    for (const TilePart& part : cut_tiles({tile(shape, shape.cols, shape.cols)}, 100)) {
      EXPECT_LE(std::int64_t{part.rows} * part.cols, 100);
      for (std::int64_t r = part.row; r < part.row + part.rows; ++r)
        for (std::int64_t c = part.col; c < part.col + part.cols; ++c)
          ++copies[static_cast<std::size_t>(r * shape.cols + c)];
    }
    EXPECT_EQ(copies, std::vector<int>(copies.size(), 1)) << shape.rows << " x " << shape.cols;
  }
}

TEST(CudaPieces, MergeRowsThatFollowOneAnotherOnBothSides) {
  const auto merged =
      merge_rows({{tile({4, 6}, 6, 6), tile({4, 6}, 8, 6), tile({0, 6}, 6, 6), tile({4, 6}, 6, 7)}}).tiles;
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].shape, (Shape{1, 24}));
  EXPECT_EQ(merged[1].shape, (Shape{4, 6}));
  EXPECT_EQ(merged[2].shape, (Shape{4, 6}));
}

TEST(CudaPieces, CountBeyond32BitsOfElements) {
  // 10^10 elements of one row: the last part begins where 32 bits do not reach.
  const auto parts = cut_tiles({tile({1, 10'000'000'000}, 10'000'000'000, 10'000'000'000)}, 8192);
  EXPECT_EQ(parts.size(), 1220704U);
  EXPECT_EQ(parts.back().col, 1220703 * std::int64_t{8192});
  EXPECT_EQ(parts.back().col + parts.back().cols, 10'000'000'000);
}

}  // namespace
}  // namespace muonbench::cuda
