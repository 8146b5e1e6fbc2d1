// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/distribution.h"

namespace muonbench {
namespace {

/// Of all ranks of the axis together. In double: as many as 2^63 a rank are countable, but not their sum.
double distributed_flops(Shape matrix, GramSide side, int ranks, const NsOptions& options) {
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

}  // namespace

std::optional<Distribution> distribution_of(const ParamShardSpec& spec) {
  const GramSide tp_side = spec.tp_dim == 1 ? GramSide::kRows : GramSide::kColumns;
  switch (spec.sharding()) {
    case ParamSharding::kReplicated: return std::nullopt;
    case ParamSharding::kGtpRemat: return Distribution{AxisSet::kGtpRemat, GramSide::kColumns, std::nullopt};
    case ParamSharding::kTp: return Distribution{AxisSet::kTp, tp_side, std::nullopt};
    case ParamSharding::kGtpRematAndTp: break;
  }
  if (spec.domain.gtp_remat >= spec.domain.tp)
    return Distribution{AxisSet::kGtpRemat, GramSide::kColumns, AxisSet::kTp};
  return Distribution{AxisSet::kTp, tp_side, AxisSet::kGtpRemat};
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
  double duplicated = 0.0, distributed = 0.0;
  for (const Shape& matrix : split.matrices(spec.full_shape)) {
    duplicated += static_cast<double>(ns_flops(matrix, options)) * ranks;
    distributed += distributed_flops(matrix, distribution->side, ranks, options);
  }
  return distributed < duplicated ? RunsAs::kDistributed : RunsAs::kDuplicated;
}

}  // namespace muonbench
