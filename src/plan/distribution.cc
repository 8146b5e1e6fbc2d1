// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/distribution.h"

namespace muonbench {
namespace {

/// Of all ranks of the axis together. In double: as many as 2^63 a rank are countable, but not their sum.
double summed_flops(Shape matrix, GramSide side, int ranks, const NsOptions& options) {
  const NsSlice all{matrix, side};
  const NsAlgorithm algorithm = resolved(options, all, 1).algorithm;
  // Every rank squares A; nothing but that is left where X has no rows, or columns.
  const NsSlice none{side == GramSide::kRows ? Shape{matrix.rows, 0} : Shape{0, matrix.cols}, side};
  double flops = 0.0;
  for (const NsCoefficients& step : options.steps) {
    flops += static_cast<double>(ns_part_flops(NsPart::kGram, all, step, algorithm));
    flops += static_cast<double>(ns_part_flops(NsPart::kStep, all, step, algorithm));
    flops += static_cast<double>(ns_part_flops(NsPart::kStep, none, step, algorithm)) * (ranks - 1);
  }
  return flops;
}

Distribution over_tp(const ParamShardSpec& spec) {
  return {AxisSet::kTp, spec.tp_dim == 1 ? GramSide::kRows : GramSide::kColumns, std::nullopt};
}

}  // namespace

std::optional<Distribution> distribution_of(const ParamShardSpec& spec) {
  switch (spec.sharding()) {
    case ParamSharding::kReplicated: return std::nullopt;
    case ParamSharding::kGtpRemat: return Distribution{AxisSet::kGtpRemat, GramSide::kColumns, std::nullopt};
    case ParamSharding::kTp: return over_tp(spec);
    case ParamSharding::kGtpRematAndTp: break;
  }
  if (spec.domain.gtp_remat >= spec.domain.tp)
    return Distribution{AxisSet::kGtpRemat, GramSide::kColumns, AxisSet::kTp};
  Distribution distribution = over_tp(spec);
  distribution.gathered = AxisSet::kGtpRemat;
  return distribution;
}

std::optional<Distribution> distribution_as(NsSpread spread, const ParamShardSpec& spec) {
  switch (spread) {
    case NsSpread::kNone: break;
    case NsSpread::kColumn: {
      Distribution column = over_tp(spec);
      column.gathered = AxisSet::kGtpRemat;
      return column;
    }
    case NsSpread::kDomain:
      if (spec.sharding() != ParamSharding::kGtpRematAndTp) return distribution_of(spec);
      // Whatever the size of the axes: over tp a column would do with fewer ranks.
      return Distribution{AxisSet::kGtpRemat, GramSide::kColumns, AxisSet::kTp};
  }
  return std::nullopt;
}

double whole_flops(const ParamShardSpec& spec, const RowSplit& split, const NsOptions& options) {
  double flops = 0.0;
  for (const Shape& matrix : split.matrices(spec.full_shape))
    flops += static_cast<double>(ns_flops(matrix, options));
  return flops;
}

Shape HeldPart::shape() const {
  std::int64_t count = 0;
  for (const Range& range : rows) count += range.count;
  return {count, cols};
}

HeldPart held_part(const ParamShardSpec& spec, const Distribution& distribution, DomainPlace place) {
  if (!distribution.gathered) {
    const ShardExtent extent = spec.extent(place);
    return {{extent.rows}, extent.cols.count};
  }
  const Shape tp_local = spec.tp_local_shape();
  if (distribution.gathered != AxisSet::kTp)
    return {{{spec.tp_dim == 0 ? place.t.value() * tp_local.rows : 0, tp_local.rows}}, tp_local.cols};
  HeldPart held{{}, spec.full_shape.cols};
  for (int t = 0; t < (spec.tp_dim == 0 ? spec.domain.tp : 1); ++t)
    held.rows.push_back(spec.extent({place.g, TpRank(t)}).rows);
  return held;
}

RowPiece held_rows(const RowSplit& split, std::size_t piece, const HeldPart& held) {
  RowPiece found;
  std::int64_t before = 0;
  for (const Range& range : held.rows) {
    for (RowRuns runs : split.piece_in(piece, range).runs) {
      runs.begin += before;
      found.runs.push_back(runs);
    }
    before += range.count;
  }
  return found;
}

double distributed_flops_at(DomainPlace place, const ParamShardSpec& spec, const RowSplit& split,
                            const Distribution& distribution, const NsOptions& options) {
  const HeldPart held = held_part(spec, distribution, place);
  std::vector<Shape> shapes;
  if (split.is_whole()) shapes.push_back(held.shape());
  for (std::size_t piece = 0; piece < split.pieces().size(); ++piece)
    shapes.push_back({held_rows(split, piece, held).rows(), held.cols});
  double flops = 0.0;
  for (const Shape& shape : shapes) {
    if (shape.elements() == Elements(0)) continue;
    const NsSlice slice{shape, distribution.side};
    const NsAlgorithm algorithm = resolved(options, slice, 1).algorithm;
    for (const NsCoefficients& step : options.steps)
      for (const NsPart part : {NsPart::kGram, NsPart::kStep})
        flops += static_cast<double>(ns_part_flops(part, slice, step, algorithm));
  }
  return flops;
}

int ranks_of(AxisSet::Axis axis, DomainShape domain) {
  switch (axis) {
    case AxisSet::kTp: return domain.tp;
    case AxisSet::kGtpRemat: return domain.gtp_remat;
    case AxisSet::kDp: break;
  }
  return 1;
}

std::string_view name_of(RunsAs runs_as) {
  switch (runs_as) {
    case RunsAs::kDuplicated: return "duplicated";
    case RunsAs::kDistributed: return "distributed";
  }
  return "";
}

RunsAs cheaper_way(const ParamShardSpec& spec, const RowSplit& split, Family family,
                   const NsOptions& options) {
  const auto distribution = distribution_of(spec);
  if (family != Family::kDense || !spec.gtp_sharded || !distribution) return RunsAs::kDuplicated;
  const int ranks = ranks_of(distribution->axis, spec.domain);
  double distributed = 0.0;
  for (const Shape& matrix : split.matrices(spec.full_shape))
    distributed += summed_flops(matrix, distribution->side, ranks, options);
  return distributed / ranks < whole_flops(spec, split, options) ? RunsAs::kDistributed : RunsAs::kDuplicated;
}

}  // namespace muonbench
