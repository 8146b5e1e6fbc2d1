// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/shard/row_split.h"

#include <algorithm>
#include <numeric>

namespace muonbench {
namespace {

/// Rows `offset` ... `offset` + `size` - 1 of every group, as far as they lie in `rows`, which are not empty.
RowPiece rows_in(Range rows, std::int64_t offset, std::int64_t size, std::int64_t group) {
  RowPiece piece;
  const auto add = [&](std::int64_t first_group, std::int64_t groups) {
    const std::int64_t begin = std::max(rows.begin, first_group * group + offset);
    const std::int64_t end = std::min(rows.end(), first_group * group + offset + size);
    if (groups == 0 || begin >= end) return;
    // A whole run goes on from the whole one in the group before.
    if (!piece.runs.empty() && piece.runs.back().rows == size && end - begin == size)
      piece.runs.back().count += groups;
    else
      piece.runs.push_back({begin - rows.begin, end - begin, groups, group});
  };
  const std::int64_t first = rows.begin / group, last = (rows.end() - 1) / group;
  add(first, 1);
  if (last > first) {
    add(first + 1, last - first - 1);
    add(last, 1);
  }
  return piece;
}

}  // namespace

std::int64_t RowPiece::rows() const {
  std::int64_t sum = 0;
  for (const RowRuns& run : runs) sum += run.rows * run.count;
  return sum;
}

std::int64_t RowSplit::group() const {
  return std::accumulate(pieces_.begin(), pieces_.end(), std::int64_t{0});
}

std::vector<RowPiece> RowSplit::pieces_in(Range rows) const {
  if (rows.empty()) return {};
  if (is_whole()) return {RowPiece{{{0, rows.count, 1, rows.count}}}};
  std::vector<RowPiece> found;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    if (RowPiece piece = piece_in(i, rows); !piece.runs.empty()) found.push_back(std::move(piece));
  return found;
}

RowPiece RowSplit::piece_in(std::size_t piece, Range rows) const {
  if (rows.empty()) return {};
  const auto here = pieces_.begin() + static_cast<std::ptrdiff_t>(piece);
  return rows_in(rows, std::accumulate(pieces_.begin(), here, std::int64_t{0}), *here, group());
}

Shape RowSplit::matrix_of_piece(std::size_t piece, Shape full) const {
  const std::int64_t rows = group();
  if (rows == 0) return full;  // whole
  return {full.rows / rows * pieces_.at(piece), full.cols};
}

Shape RowSplit::matrix_of(std::int64_t row, Shape full) const {
  std::int64_t end = 0;
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    end += pieces_[piece];
    if (row % group() < end) return matrix_of_piece(piece, full);
  }
  return full;  // whole
}

std::vector<Shape> RowSplit::matrices(Shape full) const {
  if (is_whole()) return {full};
  std::vector<Shape> shapes;
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) shapes.push_back(matrix_of_piece(piece, full));
  return shapes;
}

}  // namespace muonbench
