// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/base/shape.h"

namespace muonbench {

/// `count` runs of `rows` consecutive rows, the first at row `begin`, the others `stride` rows apart.
struct RowRuns {
  std::int64_t begin = 0;
  std::int64_t rows = 0;
  std::int64_t count = 0;
  std::int64_t stride = 0;
  friend auto operator<=>(const RowRuns&, const RowRuns&) = default;
};

/// The rows of one piece, in order; no run is empty.
struct RowPiece {
  std::vector<RowRuns> runs;
  [[nodiscard]] std::int64_t rows() const;
  friend auto operator<=>(const RowPiece&, const RowPiece&) = default;
};

/// Which rows of a full matrix meet NS together. A fused QKV weight has dim 0 in query groups of `group()`
/// rows each: the q rows of all groups are one matrix, the k rows another, the v rows a third. Decided on the
/// full matrix, whatever shards it is cut into.
class RowSplit {
 public:
  RowSplit() = default;  ///< whole: all rows together
  explicit RowSplit(std::vector<std::int64_t> pieces) : pieces_(std::move(pieces)) {}

  [[nodiscard]] bool is_whole() const { return pieces_.empty(); }
  /// Rows of one group's pieces; empty if whole.
  [[nodiscard]] const std::vector<std::int64_t>& pieces() const { return pieces_; }
  [[nodiscard]] std::int64_t group() const;

  /// The pieces of rows `rows` of the full matrix, rows counted from rows.begin on; pieces without a row
  /// there left out.
  [[nodiscard]] std::vector<RowPiece> pieces_in(Range rows) const;
  /// Those of the piece'th piece, which may have none there.
  [[nodiscard]] RowPiece piece_in(std::size_t piece, Range rows) const;
  /// Shape of the matrix that row `row` of a full matrix belongs to.
  [[nodiscard]] Shape matrix_of(std::int64_t row, Shape full) const;
  /// Shape of the matrix that the piece'th piece of a full matrix is; the full one if whole.
  [[nodiscard]] Shape matrix_of_piece(std::size_t piece, Shape full) const;
  /// Shapes of the matrices that NS runs on for a full matrix.
  [[nodiscard]] std::vector<Shape> matrices(Shape full) const;

  friend auto operator<=>(const RowSplit&, const RowSplit&) = default;

 private:
  std::vector<std::int64_t> pieces_;
};

}  // namespace muonbench
