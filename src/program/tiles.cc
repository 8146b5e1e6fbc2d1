// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/tiles.h"

#include <utility>

namespace muonbench {
namespace {

/// A block of a larger row-major matrix.
struct Block {
  BufferId buffer;
  Elements offset;
  std::int64_t stride = 0;
  Shape shape;
};

void add_tile(std::vector<Tile>& tiles, Region piece, const Block& block, Direction direction) {
  if (block.shape.elements() == Elements(0)) return;
  switch (direction) {
    case Direction::kAssemble:
      tiles.push_back({piece.buffer, piece.offset, block.shape.cols, block.buffer, block.offset, block.stride,
                       block.shape});
      break;
    case Direction::kTakeApart:
      tiles.push_back({block.buffer, block.offset, block.stride, piece.buffer, piece.offset, block.shape.cols,
                       block.shape});
      break;
  }
}

}  // namespace

void add_gtp_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, GtpRank g, Region shard,
                  Region tp_local, Direction direction) {
  const std::int64_t cols = spec.shard_shape().cols;
  const std::int64_t true_rows = spec.extent({g, TpRank(0)}).rows.count;
  const Elements offset(g.value() * spec.shard_shape().rows * cols);
  add_tile(tiles, shard, {tp_local.buffer, tp_local.offset + offset, cols, Shape{true_rows, cols}},
           direction);
}

void add_tp_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, TpRank t, Region tp_local, Region full,
                 Direction direction) {
  const Shape local = spec.tp_local_shape();
  const Elements offset(spec.tp_dim == 0 ? t.value() * local.rows * local.cols : t.value() * local.cols);
  add_tile(tiles, tp_local, {full.buffer, full.offset + offset, spec.full_shape.cols, local}, direction);
}

void add_shard_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, DomainPlace place, Region shard,
                    Region full, Direction direction) {
  const ShardExtent extent = spec.extent(place);
  const std::int64_t cols = spec.full_shape.cols;
  const Elements offset(extent.rows.begin * cols + extent.cols.begin);
  add_tile(tiles, shard, {full.buffer, full.offset + offset, cols, {extent.rows.count, extent.cols.count}},
           direction);
}

void add_row_tiles(std::vector<Tile>& tiles, const RowPiece& rows, std::int64_t cols, Region piece,
                   Region matrix, Direction direction) {
  // Runs of equal length, equally far apart, are the rows of one block.
  Elements done;
  for (const RowRuns& runs : rows.runs) {
    const Shape shape{runs.count, runs.rows * cols};
    add_tile(tiles, {piece.buffer, piece.offset + done, shape.elements()},
             {matrix.buffer, matrix.offset + Elements(runs.begin * cols), runs.stride * cols, shape},
             direction);
    done += shape.elements();
  }
}

void add_region_tile(std::vector<Tile>& tiles, Region from, Region to) {
  const std::int64_t size = from.size.value();
  tiles.push_back({from.buffer, from.offset, size, to.buffer, to.offset, size, Shape{1, size}});
}

void add_next_row(std::vector<Tile>& tiles, Region from, Region to) {
  if (!tiles.empty()) {
    Tile& last = tiles.back();
    const std::int64_t distance = (from.offset - last.src_offset).value();
    if (last.src == from.buffer && last.dst == to.buffer && last.shape.cols == from.size.value() &&
        last.dst_stride == last.shape.cols && to.offset == last.dst_offset + last.shape.elements()) {
      if (last.shape.rows == 1 && distance >= last.shape.cols) last.src_stride = distance;
      if (distance == last.shape.rows * last.src_stride) {
        ++last.shape.rows;
        return;
      }
    }
  }
  add_region_tile(tiles, from, to);
}

Region pad_region(const ParamShardSpec& spec, GtpRank g, Region shard) {
  const ShardExtent extent = spec.extent({g, TpRank(0)});
  const std::int64_t cols = spec.shard_shape().cols;
  return Region{shard.buffer, shard.offset + Elements(extent.rows.count * cols),
                Elements(extent.pad_rows * cols)};
}

}  // namespace muonbench
