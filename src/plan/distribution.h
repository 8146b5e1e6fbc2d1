// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "src/model/parameter.h"
#include "src/ns/ns_slice.h"
#include "src/plan/homes.h"
#include "src/shard/row_split.h"
#include "src/shard/shard_spec.h"

namespace muonbench {

/// How NS of a weight is spread over its domain: each rank of `axis` works on the rows or columns that it
/// has, and Gram matrices are added up over the axis. A weight split over both axes is gathered over the
/// smaller one, over tp if they are equal.
struct Distribution {
  AxisSet::Axis axis = AxisSet::kGtpRemat;
  GramSide side = GramSide::kColumns;     ///< of the dim that `axis` does not split
  std::optional<AxisSet::Axis> gathered;  ///< the other axis, where it splits the weight too
};

/// What of a weight a rank works on: rows of the full matrix, one range after the other, and how many
/// columns.
struct HeldPart {
  std::vector<Range> rows;
  std::int64_t cols = 0;

  [[nodiscard]] Shape shape() const;
};
/// Of the rank at `place`, once it has gathered: pads left out, over gtp_remat the TP-local matrix, over tp
/// the rows of its g, with tp_dim 0 in another order than in the full matrix, which NS does not mind.
[[nodiscard]] HeldPart held_part(const ParamShardSpec& spec, const Distribution& distribution,
                                 DomainPlace place);
/// Rows of the piece'th piece of `split`, counted from the first that is held.
[[nodiscard]] RowPiece held_rows(const RowSplit& split, std::size_t piece, const HeldPart& held);

/// None for a replicated weight: every rank has all of it.
[[nodiscard]] std::optional<Distribution> distribution_of(const ParamShardSpec& spec);

/// distribution_of() or another rule, for weights that one list holds.
using DistributionRule = std::optional<Distribution> (*)(const ParamShardSpec& spec);

/// Of a weight at home that is spread, none if it is whole there. Over a column each TP peer has one of the
/// TP-local matrices, which stage 1 puts together as a gather over gtp_remat would.
[[nodiscard]] std::optional<Distribution> distribution_as(NsSpread spread, const ParamShardSpec& spec);

/// NS FLOPs of the rank at `place`: none where it holds pads alone.
[[nodiscard]] double distributed_flops_at(DomainPlace place, const ParamShardSpec& spec,
                                          const RowSplit& split, const Distribution& distribution,
                                          const NsOptions& options);
/// And of a rank that runs NS on the whole weight.
[[nodiscard]] double whole_flops(const ParamShardSpec& spec, const RowSplit& split, const NsOptions& options);

/// Ranks of the axis.
[[nodiscard]] int ranks_of(AxisSet::Axis axis, DomainShape domain);

/// Where NS of one weight runs in mode auto.
enum class RunsAs { kDuplicated, kDistributed };
[[nodiscard]] std::string_view name_of(RunsAs runs_as);

/// The cheaper by floating point operations of a rank, for a weight of the dense family that is split over
/// gtp_remat; duplicated for all others, and where both cost the same. A function of the weight's true shape,
/// its layout and the NS options alone, so that all ranks decide alike.
[[nodiscard]] RunsAs cheaper_way(const ParamShardSpec& spec, const RowSplit& split, Family family,
                                 const NsOptions& options);

}  // namespace muonbench
