// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/program/op.h"
#include "src/shard/row_split.h"
#include "src/shard/shard_spec.h"

namespace muonbench {

/// Copies between the pieces that travel and the matrices that they make up. `Assembled` is a row-major
/// matrix in one region; a piece is contiguous.
enum class Direction { kAssemble, kTakeApart };

/// GTP_remat shard g of a TP-local matrix whose pads are stripped: true rows only; none if the shard is all
/// pads.
void add_gtp_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, GtpRank g, Region shard,
                  Region tp_local, Direction direction);

/// TP-local matrix t of the full matrix: a block of rows (tp_dim 0), or of columns (tp_dim 1).
void add_tp_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, TpRank t, Region tp_local, Region full,
                 Direction direction);

/// The shard at `place` of the full matrix: true rows only; none if the shard is all pads.
void add_shard_tile(std::vector<Tile>& tiles, const ParamShardSpec& spec, DomainPlace place, Region shard,
                    Region full, Direction direction);

/// The rows of one piece of a matrix of `cols` columns.
void add_row_tiles(std::vector<Tile>& tiles, const RowPiece& rows, std::int64_t cols, Region piece,
                   Region matrix, Direction direction);

/// A region as it is, to one of equal size.
void add_region_tile(std::vector<Tile>& tiles, Region from, Region to);

/// Likewise, as one more row of the tile before if it goes behind that tile's rows and comes from as far
/// behind as each of them: what a group of ranks dealt out evenly is one tile, not one for each rank.
void add_next_row(std::vector<Tile>& tiles, Region from, Region to);

/// The pad rows at the end of GTP_remat shard g; empty if it has none.
[[nodiscard]] Region pad_region(const ParamShardSpec& spec, GtpRank g, Region shard);

}  // namespace muonbench
