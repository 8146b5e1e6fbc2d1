// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

/// How the lower triangle of a symmetric product is dealt out to multiprocessors. Host code without CUDA.
namespace muonbench::cuda {

/// Elements a side of the boxes that triangles are made of: what one load brings.
inline constexpr int kBoxSide = 64;

/// What multiplies.
enum class SymmetricKernel {
  kInTurns,   ///< tiles of 2 x 2 boxes; of two warpgroups one multiplies while the other stores
  kTogether,  ///< tiles of 2 x 3 boxes; two warpgroups share one: where there are too few to take turns
};

/// The tiles of one matrix, of the same kernel.
struct SymmetricTiles {
  /// Row and column of a tile, counted in tiles.
  struct Tile {
    std::uint16_t row = 0, column = 0;
    friend bool operator==(const Tile&, const Tile&) = default;
  };
  SymmetricKernel kernel = SymmetricKernel::kInTurns;
  std::vector<Tile> tiles;  ///< in the order in which they begin
};

/// Boxes in a row and in a column of a tile.
struct TileBoxes {
  int rows, columns;
};
[[nodiscard]] constexpr TileBoxes tile_boxes(SymmetricKernel kernel) {
  switch (kernel) {
    case SymmetricKernel::kInTurns: return {2, 2};
    case SymmetricKernel::kTogether: return {2, 3};
  }
  return {};
}

/// Every box on or below the diagonal of a (side, side) matrix is in one tile; what is above it in the same
/// tile is not stored.
[[nodiscard]] SymmetricTiles tile_symmetric(SymmetricKernel kernel, std::int64_t side);

/// Of the kernels the one that ends first when multiprocessors take the tiles of `batch`
/// matrices in turn, each a sum over `length`.
[[nodiscard]] SymmetricKernel choose_kernel(std::int64_t side, std::int64_t length, std::int64_t batch,
                                            int multiprocessors);

}  // namespace muonbench::cuda
