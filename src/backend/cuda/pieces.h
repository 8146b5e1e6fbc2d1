// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "src/backend/work.h"

/// How lists of unequal arrays are dealt out to equal thread blocks. Host code without CUDA.
namespace muonbench::cuda {

/// One thread block's part of one item: elements [index * size, (index + 1) * size), cut off at the item's
/// end.
struct Piece {
  std::int32_t item = 0;
  std::int32_t index = 0;
};

/// Pieces of at most `size` elements over items of the given sizes; none for an empty item.
[[nodiscard]] std::vector<Piece> cut_into_pieces(const std::vector<std::int64_t>& sizes, std::int64_t size);

/// A part of a tile that one thread block copies: rows [row, row + rows) and columns [col, col + cols).
struct TilePart {
  std::int32_t tile = 0;
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::int32_t unused = 0;
  std::int64_t row = 0;
  std::int64_t col = 0;
};

/// Parts of at most about `size` elements: several rows of a narrow tile, or a piece of one row of a wide
/// one.
[[nodiscard]] std::vector<TilePart> cut_tiles(const std::vector<BoundTile>& tiles, std::int64_t size);

}  // namespace muonbench::cuda
