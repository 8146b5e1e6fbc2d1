// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/distribution.h"

namespace muonbench {
namespace {

/// Of all ranks of the axis together. In double: as many as 2^63 a rank are countable, but not their sum.
double summed_flops(Shape matrix, GramSide side, int ranks, const NsOptions& options) {
  const NsSlice all{matrix, side};
  // Every rank squares A; nothing but that is left where X has no rows, or columns.
  const NsSlice none{side == GramSide::kRows ? Shape{matrix.rows, 0} : Shape{0, matrix.cols}, side};
  double flops = 0.0;
  for (const NsCoefficients& step : options.steps) {
    flops += static_cast<double>(ns_part_flops(NsPart::kGram, all, step, options.algorithm));
    flops += static_cast<double>(ns_part_flops(NsPart::kStep, all, step, options.algorithm));
    flops += static_cast<double>(ns_part_flops(NsPart::kStep, none, step, options.algorithm)) * (ranks - 1);
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
    case NsSpread::kColumn: return over_tp(spec);
    case NsSpread::kDomain:
      if (spec.sharding() != ParamSharding::kGtpRematAndTp) return distribution_of(spec);
      // Whatever the size of the axes: over tp a column would do with fewer ranks.
      return Distribution{AxisSet::kGtpRemat, GramSide::kColumns, AxisSet::kTp};
  }
  return std::nullopt;
}

double distributed_flops(const ParamShardSpec& spec, const RowSplit& split, const Distribution& distribution,
                         const NsOptions& options) {
  const int ranks = ranks_of(distribution.axis, spec.domain);
  double flops = 0.0;
  for (const Shape& matrix : split.matrices(spec.full_shape))
    flops += summed_flops(matrix, distribution.side, ranks, options);
  return flops / ranks;
}

double whole_flops(const ParamShardSpec& spec, const RowSplit& split, const NsOptions& options) {
  double flops = 0.0;
  for (const Shape& matrix : split.matrices(spec.full_shape))
    flops += static_cast<double>(ns_flops(matrix, options));
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
  const bool cheaper =
      distributed_flops(spec, split, *distribution, options) < whole_flops(spec, split, options);
  return cheaper ? RunsAs::kDistributed : RunsAs::kDuplicated;
}

}  // namespace muonbench
