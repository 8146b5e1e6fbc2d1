// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/tiles.h"

#include <utility>

namespace muonbench {
namespace {

/// One block: `piece` contiguous, `matrix` at an offset with its own row stride.
void add_tile(std::vector<Tile>& tiles, Region piece, Region matrix, Elements matrix_offset, std::int64_t matrix_stride,
              Shape shape, Direction direction) {
  if (shape.elements() == Elements(0)) return;
  const Elements at = matrix.offset + matrix_offset;
  switch (direction) {
    case Direction::kAssemble:
      tiles.push_back({piece.buffer, piece.offset, shape.cols, matrix.buffer, at, matrix_stride, shape});
      break;
    case Direction::kTakeApart:
      tiles.push_back({matrix.buffer, at, matrix_stride, piece.buffer, piece.offset, shape.cols, shape});
      break;
  }
}

}  // namespace

void add_gtp_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, GtpRank g, Region shard, Region tp_local,
                  Direction direction) {
  const std::int64_t cols = spec.shard_shape().cols;
  const std::int64_t true_rows = spec.extent({g, TpRank(0)}).rows.count;
  const Elements offset(g.value() * spec.shard_shape().rows * cols);
  add_tile(tiles, shard, tp_local, offset, cols, Shape{true_rows, cols}, direction);
}

void add_tp_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, TpRank t, Region tp_local, Region full,
                 Direction direction) {
  const Shape local = spec.tp_local_shape();
  const std::int64_t offset = spec.tp_dim == 0 ? t.value() * local.rows * local.cols : t.value() * local.cols;
  add_tile(tiles, tp_local, full, Elements(offset), spec.full_shape.cols, local, direction);
}

Region pad_region(const ParamShardSpec& spec, GtpRank g, Region shard) {
  const ShardExtent extent = spec.extent({g, TpRank(0)});
  const std::int64_t cols = spec.shard_shape().cols;
  return Region{shard.buffer, shard.offset + Elements(extent.rows.count * cols), Elements(extent.pad_rows * cols)};
}

}  // namespace muonbench
