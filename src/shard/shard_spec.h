// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/shape.h"
#include "src/model/parameter.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Which axes of its (gtp_remat, tp) domain shard a parameter. The exchanges follow: stage 1 for gtp_remat,
/// stage 2 for tp.
enum class ParamSharding { kReplicated, kGtpRemat, kTp, kGtpRematAndTp };

[[nodiscard]] std::string_view name_of(ParamSharding sharding);

/// Which rows and columns of the full matrix one rank holds. Rows are consecutive; pad rows follow them in
/// the shard.
struct ShardExtent {
  Range rows;  ///< true rows, in full-matrix rows; may be empty
  Range cols;
  std::int64_t pad_rows = 0;  ///< zero rows at the end of the shard
};

/// How the model sharded one parameter over a domain. Holds what the model imposes; everything else is
/// derived. Padding: alignment A = pad_for_alignment * G on dim 0 of the TP-local matrix, pad = (A - dim0 mod
/// A) mod A, trailing zero rows of the GTP-gathered, TP-local matrix. Under TP dim 0 there are thus T pad
/// blocks, one per TP block.
struct ParamShardSpec {
  DomainShape domain;
  std::optional<int> tp_dim;    ///< none where the domain has no TP axis
  bool gtp_sharded = false;     ///< false where the domain has no GTP_remat axis
  std::int64_t pad_length = 0;  ///< pad rows of the TP-local matrix; 0 unless gtp_sharded
  Shape full_shape;             ///< the true full matrix, pads excluded

  /// Throws ConfigError naming the parameter, dim, size and group size:
  /// TP-sharded but not GTP_remat-sharded while the domain has a GTP_remat axis (stage 1 would stack its
  /// copies as rows); tp does not divide the dim that it splits; pad_for_alignment 0 and G does not divide
  /// the TP-local rows.
  [[nodiscard]] static ParamShardSpec from_param(const Parameter& param, DomainShape domain,
                                                 std::int64_t pad_for_alignment);

  [[nodiscard]] ParamSharding sharding() const;
  /// Full matrix split over TP alone; pads excluded.
  [[nodiscard]] Shape tp_local_shape() const;
  /// What every rank stores: (pads included) rows x cols. Equal on all ranks of the domain.
  [[nodiscard]] Shape shard_shape() const;
  [[nodiscard]] Elements shard_elements() const { return shard_shape().elements(); }
  [[nodiscard]] ShardExtent extent(DomainPlace place) const;
  /// Axes of the domain along which ranks hold equal copies of a shard.
  [[nodiscard]] AxisSet replicated_axes() const;

  friend auto operator<=>(const ParamShardSpec&, const ParamShardSpec&) = default;
};

}  // namespace muonbench
