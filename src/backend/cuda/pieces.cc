// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/pieces.h"

#include <algorithm>
#include <limits>

#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

std::int32_t small(std::int64_t value) {
  MUONBENCH_CHECK(value >= 0 && value <= std::numeric_limits<std::int32_t>::max(), "{} pieces of one array",
                  value);
  return static_cast<std::int32_t>(value);
}

}  // namespace

std::vector<Piece> cut_into_pieces(const std::vector<std::int64_t>& sizes, std::int64_t size) {
  std::vector<Piece> pieces;
  std::int64_t total = 0;
  for (const std::int64_t all : sizes) total += (all + size - 1) / size;
  pieces.reserve(static_cast<std::size_t>(total));
  for (std::size_t item = 0; item < sizes.size(); ++item) {
    const std::int32_t count = small((sizes[item] + size - 1) / size);
    for (std::int32_t index = 0; index < count; ++index)
      pieces.push_back({.item = small(static_cast<std::int64_t>(item)), .index = index});
  }
  return pieces;
}

std::vector<TilePart> cut_tiles(const std::vector<BoundTile>& tiles, std::int64_t size) {
  std::vector<TilePart> parts;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const Shape shape = tiles[i].shape;
    const std::int64_t cols = std::min(shape.cols, size);
    const std::int64_t rows = std::max<std::int64_t>(1, size / cols);
    for (std::int64_t row = 0; row < shape.rows; row += rows)
      for (std::int64_t col = 0; col < shape.cols; col += cols)
        parts.push_back({.tile = small(static_cast<std::int64_t>(i)),
                         .rows = small(std::min(rows, shape.rows - row)),
                         .cols = small(std::min(cols, shape.cols - col)),
                         .row = row,
                         .col = col});
  }
  return parts;
}

}  // namespace muonbench::cuda
