// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/symmetric_tiles.h"

#include <algorithm>
#include <limits>

#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

// Rows of tiles that are worked on at a time, so that what multiprocessors read of the operand is near.
constexpr std::int64_t kBand = 8;
// What storing a tile takes, in steps of kBoxSide along the sum that one box's product takes: 2 of 0.09 us.
constexpr std::int64_t kStoreSteps = 22;

std::int64_t rounded_up(std::int64_t length, std::int64_t size) { return (length + size - 1) / size; }

/// Boxes of a tile that are multiplied: of a pair of box rows as many columns as the lower needs.
std::int64_t boxes_multiplied(SymmetricKernel kernel, SymmetricTiles::Tile tile, std::int64_t box_rows) {
  const TileBoxes boxes = tile_boxes(kernel);
  const std::int64_t first_row = std::int64_t{tile.row} * boxes.rows;
  const std::int64_t first_column = std::int64_t{tile.column} * boxes.columns;
  std::int64_t count = 0;
  for (std::int64_t row = first_row; row < first_row + boxes.rows; ++row) {
    const std::int64_t wanted = std::clamp<std::int64_t>(row - first_column + 1, 0, boxes.columns);
    if (row < box_rows || kernel == SymmetricKernel::kInTurns) count += wanted;
  }
  return count;
}

/// In steps of one box, of the multiprocessor that has most to do.
std::int64_t time_of(const SymmetricTiles& tiling, std::int64_t side, std::int64_t length, std::int64_t batch,
                     int multiprocessors) {
  std::vector<std::int64_t> busy(static_cast<std::size_t>(multiprocessors));
  const std::int64_t steps = rounded_up(length, kBoxSide);
  std::size_t next = 0;
  for (std::int64_t matrix = 0; matrix < batch; ++matrix)
    for (const SymmetricTiles::Tile tile : tiling.tiles) {
      std::int64_t& one = busy[next++ % busy.size()];
      one += boxes_multiplied(tiling.kernel, tile, rounded_up(side, kBoxSide)) * steps;
      // Taking turns hides all but the last.
      if (tiling.kernel == SymmetricKernel::kTogether) one += kStoreSteps;
    }
  return *std::ranges::max_element(busy) + (tiling.kernel == SymmetricKernel::kInTurns ? kStoreSteps : 0);
}

}  // namespace

SymmetricTiles tile_symmetric(SymmetricKernel kernel, std::int64_t side) {
  const TileBoxes boxes = tile_boxes(kernel);
  const std::int64_t box_rows = rounded_up(side, kBoxSide);
  const std::int64_t rows = rounded_up(box_rows, boxes.rows);
  MUONBENCH_CHECK(side > 0 && rows <= std::numeric_limits<std::uint16_t>::max(), "a side of {}", side);
  SymmetricTiles result{kernel, {}};
  for (std::int64_t first = 0; first < rows; first += kBand) {
    const std::int64_t last = std::min(first + kBand, rows);
    for (std::int64_t column = 0; column * boxes.columns < std::min(last * boxes.rows, box_rows); ++column)
      for (std::int64_t row = first; row < last; ++row)
        if (column * boxes.columns < std::min((row + 1) * boxes.rows, box_rows))
          result.tiles.push_back({static_cast<std::uint16_t>(row), static_cast<std::uint16_t>(column)});
  }
  // Short ones last, where they fill what is left.
  std::ranges::stable_sort(result.tiles, std::greater(), [&](SymmetricTiles::Tile tile) {
    return boxes_multiplied(kernel, tile, box_rows);
  });
  return result;
}

SymmetricKernel choose_kernel(std::int64_t side, std::int64_t length, std::int64_t batch,
                              int multiprocessors) {
  MUONBENCH_CHECK(multiprocessors > 0, "{} multiprocessors", multiprocessors);
  const auto time = [&](SymmetricKernel kernel) {
    return time_of(tile_symmetric(kernel, side), side, length, batch, multiprocessors);
  };
  return time(SymmetricKernel::kTogether) < time(SymmetricKernel::kInTurns) ? SymmetricKernel::kTogether
                                                                            : SymmetricKernel::kInTurns;
}

}  // namespace muonbench::cuda
