// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/ns/schedule.h"
#include "src/program/batches.h"
#include "src/program/emitter.h"
#include "src/program/tiles.h"

namespace muonbench {
namespace {

/// The pieces of a batch of matrices, all in one buffer, and the copies there and back.
struct Pieces {
  std::vector<Emitter::Matrix> matrices;
  CopyOp out, back;
};

Pieces pieces_of(const std::vector<Emitter::Matrix>& batch, BufferId buffer) {
  Pieces pieces;
  Elements offset;
  for (const Emitter::Matrix& matrix : batch) {
    const std::int64_t cols = matrix.shape.cols;
    for (const RowPiece& rows : matrix.pieces) {
      const Shape shape{rows.rows(), cols};
      const Region piece{buffer, offset, shape.elements()};
      add_row_tiles(pieces.out.tiles, rows, cols, piece, matrix.data, Direction::kTakeApart);
      add_row_tiles(pieces.back.tiles, rows, cols, piece, matrix.data, Direction::kAssemble);
      pieces.matrices.push_back({shape, piece});
      offset += piece.size;
    }
  }
  return pieces;
}

}  // namespace

Emitter::Matrix Emitter::matrix(ParamIndex p, Range rows, std::int64_t cols, Region data) const {
  Matrix matrix{{rows.count, cols}, data};
  const RowSplit& split = inputs_.splits.at(p.at());
  if (split.is_whole()) return matrix;
  matrix.pieces = split.pieces_in(rows);
  // All rows may be of one piece, of a shard smaller than that.
  if (matrix.pieces.size() < 2) matrix.pieces.clear();
  return matrix;
}

Emitter::Matrix Emitter::full_matrix(ParamIndex p, Region data) const {
  const Shape full = spec(p).full_shape;
  return matrix(p, {0, full.rows}, full.cols, data);
}

Emitter::Matrix Emitter::shard_matrix(ParamIndex p, Region shard) const {
  const ShardExtent extent = spec(p).extent(place(family_of(inputs_.params[p])));
  const std::int64_t cols = extent.cols.count;
  return matrix(p, extent.rows, cols, part(shard, Elements(0), Elements(extent.rows.count * cols)));
}

void Emitter::newton_schulz(const std::vector<Matrix>& matrices, int batch_size, Phase phase, int queue,
                            NsScaling scaling) {
  const auto kind = [](const Matrix& matrix) { return std::pair(matrix.shape, matrix.pieces); };
  for (const std::vector<Matrix>& batch : batches(matrices, batch_size, kind)) {
    if (batch.front().pieces.empty()) {
      newton_schulz_batch(batch, phase, queue, scaling);
      continue;
    }
    Elements total;
    for (const Matrix& matrix : batch) total += matrix.data.size;
    Pieces pieces =
        pieces_of(batch, builder_.add_transient("ns_pieces", total, DType::kFp32, MemoryUse::kNsScratch));
    builder_.add(phase, queue, std::move(pieces.out));
    const auto shape = [](const Matrix& piece) { return piece.shape; };
    for (const std::vector<Matrix>& alike : batches(pieces.matrices, batch_size, shape))
      newton_schulz_batch(alike, phase, queue, scaling);
    builder_.add(phase, queue, std::move(pieces.back));
  }
}

std::vector<UpdateItem> Emitter::unscaled_update_items(ParamIndex p, Region update) {
  const UpdateItem whole = update_item(p, update);
  const RowSplit& split = inputs_.splits.at(p.at());
  const Shape full = spec(p).full_shape;
  if (split.is_whole()) {
    UpdateItem item = whole;
    item.scale = ns_scale(full, inputs_.ns);
    return {item};
  }
  // Pads keep their zeros: nothing is to be added to them.
  const ShardExtent extent = spec(p).extent(place(family_of(inputs_.params[p])));
  const std::int64_t cols = extent.cols.count;
  std::vector<UpdateItem> items;
  for (const RowPiece& piece : split.pieces_in(extent.rows)) {
    for (const RowRuns& runs : piece.runs) {
      const NsScale scale = ns_scale(split.matrix_of(extent.rows.begin + runs.begin, full), inputs_.ns);
      for (std::int64_t k = 0; k < runs.count; ++k) {
        const Elements begin((runs.begin + k * runs.stride) * cols), size(runs.rows * cols);
        items.push_back({part(whole.update, begin, size), part(whole.master, begin, size), {}, scale});
        if (whole.weight) items.back().weight = part(*whole.weight, begin, size);
      }
    }
  }
  return items;
}

/// Matrices of one shape, whole.
void Emitter::newton_schulz_batch(const std::vector<Matrix>& batch, Phase phase, int queue,
                                  NsScaling scaling) {
  const Shape shape = batch.front().shape;
  const Elements size = ns_scratch_elements({shape, static_cast<int>(batch.size())}, inputs_.ns);
  NewtonSchulzOp op{
      shape, {}, transient("ns_scratch", size, inputs_.ns.storage, MemoryUse::kNsScratch), scaling};
  op.items.reserve(batch.size());
  for (const Matrix& matrix : batch) op.items.push_back({matrix.data, matrix.data});
  builder_.add(phase, queue, std::move(op));
}

}  // namespace muonbench
