// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

/// Which rank holds which element of a sharded matrix, written down once more as the oracle of tests. Shares
/// no code with src.
namespace muonbench::reference {

struct Cell {
  std::int64_t row = 0;
  std::int64_t col = 0;
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// One (rows x cols) matrix over gtp_remat x tp ranks: tp cuts its dim, then gtp_remat cuts rows of what each
/// tp rank has, after zero rows were added until the count is a multiple of pad_for_alignment * gtp_remat.
class ShardOracle {
 public:
  struct Tags {
    std::optional<int> tp_dim;
    bool gtp_remat = true;
  };

  ShardOracle(Cell full, Tags tags, int gtp_remat, int tp, std::int64_t pad_for_alignment)
      : tp_dim_(tags.tp_dim), cuts_rows_(tags.gtp_remat && gtp_remat > 1), tp_local_(full) {
    if (tp_dim_ == 0) tp_local_.row /= tp;
    if (tp_dim_ == 1) tp_local_.col /= tp;
    const std::int64_t alignment = pad_for_alignment == 0 ? 1 : pad_for_alignment * gtp_remat;
    if (cuts_rows_)
      while ((tp_local_.row + pad_) % alignment != 0) ++pad_;
    shard_ = {cuts_rows_ ? (tp_local_.row + pad_) / gtp_remat : tp_local_.row, tp_local_.col};
  }

  [[nodiscard]] std::int64_t pad_length() const { return pad_; }
  [[nodiscard]] Cell shard() const { return shard_; }  ///< rows and columns of every rank's shard

  /// The element of the full matrix at a place of rank (g, t)'s shard; none for a pad.
  [[nodiscard]] std::optional<Cell> element(int g, int t, Cell at) const {
    const std::int64_t tp_local_row = cuts_rows_ ? g * shard_.row + at.row : at.row;
    if (tp_local_row >= tp_local_.row) return std::nullopt;
    return Cell{tp_local_row + (tp_dim_ == 0 ? t * tp_local_.row : 0),
                at.col + (tp_dim_ == 1 ? t * tp_local_.col : 0)};
  }

 private:
  std::optional<int> tp_dim_;
  bool cuts_rows_;
  Cell tp_local_;
  Cell shard_;
  std::int64_t pad_ = 0;
};

}  // namespace muonbench::reference
