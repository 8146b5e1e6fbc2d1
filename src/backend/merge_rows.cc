// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/merge_rows.h"

namespace muonbench {

BoundCopy merge_rows(BoundCopy work) {
  std::erase_if(work.tiles, [](const BoundTile& tile) { return tile.shape.elements() == Elements(0); });
  for (BoundTile& tile : work.tiles) {
    const std::int64_t cols = tile.shape.cols;
    const bool follow = tile.src_stride == cols && tile.dst_stride == cols;
    if (!follow && tile.shape.rows > 1) continue;
    tile.shape = Shape{.rows = 1, .cols = tile.shape.rows * cols};
    tile.src_stride = tile.shape.cols;
    tile.dst_stride = tile.shape.cols;
  }
  return work;
}

}  // namespace muonbench
