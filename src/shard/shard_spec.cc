// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/shard/shard_spec.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

[[noreturn]] void refuse(const Parameter& param, const std::string& why) {
  throw ConfigError(
      text("parameter '{}' ({} x {}): {}", param.name, param.shape.rows, param.shape.cols, why));
}

std::int64_t pad_of(const Parameter& param, std::int64_t tp_local_rows, int gtp_remat,
                    std::int64_t pad_for_alignment) {
  if (pad_for_alignment == 0) {
    if (tp_local_rows % gtp_remat != 0) {
      refuse(param, text("dim 0 of the TP-local matrix: expected a multiple of parallelism.gtp_remat ({}) as "
                         "parallelism.pad_for_alignment is 0, got {}",
                         gtp_remat, tp_local_rows));
    }
    return 0;
  }
  const std::int64_t alignment = pad_for_alignment * gtp_remat;
  return (alignment - tp_local_rows % alignment) % alignment;
}

}  // namespace

std::string_view name_of(ParamSharding sharding) {
  switch (sharding) {
    case ParamSharding::kReplicated: return "replicated";
    case ParamSharding::kGtpRemat: return "gtp_remat";
    case ParamSharding::kTp: return "tp";
    case ParamSharding::kGtpRematAndTp: return "gtp_remat_and_tp";
  }
  return "";
}

ParamShardSpec ParamShardSpec::from_param(const Parameter& param, DomainShape domain,
                                          std::int64_t pad_for_alignment) {
  ParamShardSpec spec;
  spec.domain = domain;
  spec.full_shape = param.shape;
  // An axis of one rank is absent: its tag means nothing.
  if (domain.tp > 1) spec.tp_dim = param.tp_dim;
  spec.gtp_sharded = param.gtp_remat && domain.gtp_remat > 1;

  if (spec.tp_dim && domain.gtp_remat > 1 && !spec.gtp_sharded) {
    refuse(param,
           text("tp_dim {} with gtp_remat false: expected a weight that is split over tp to be split over "
                "gtp_remat ({}) too; its copies would be stacked as if they were rows",
                *spec.tp_dim, domain.gtp_remat));
  }
  if (spec.tp_dim) {
    const std::int64_t split = *spec.tp_dim == 0 ? param.shape.rows : param.shape.cols;
    if (split % domain.tp != 0) {
      refuse(param, text("dim {}: expected a multiple of parallelism.tp ({}), got {}", *spec.tp_dim,
                         domain.tp, split));
    }
  }
  if (spec.gtp_sharded) {
    spec.pad_length = pad_of(param, spec.tp_local_shape().rows, domain.gtp_remat, pad_for_alignment);
  }
  return spec;
}

ParamSharding ParamShardSpec::sharding() const {
  if (gtp_sharded) return tp_dim ? ParamSharding::kGtpRematAndTp : ParamSharding::kGtpRemat;
  return tp_dim ? ParamSharding::kTp : ParamSharding::kReplicated;
}

Shape ParamShardSpec::tp_local_shape() const {
  Shape local = full_shape;
  if (tp_dim == 0) local.rows /= domain.tp;
  if (tp_dim == 1) local.cols /= domain.tp;
  return local;
}

Shape ParamShardSpec::shard_shape() const {
  Shape shard = tp_local_shape();
  if (gtp_sharded) shard.rows = (shard.rows + pad_length) / domain.gtp_remat;
  return shard;
}

ShardExtent ParamShardSpec::extent(DomainPlace place) const {
  const Shape local = tp_local_shape();
  const Shape shard = shard_shape();
  const std::int64_t begin = gtp_sharded ? place.g.value() * shard.rows : 0;  // within the TP-local matrix
  const std::int64_t count = std::clamp<std::int64_t>(local.rows - begin, 0, shard.rows);
  const std::int64_t row_block = tp_dim == 0 ? place.t.value() * local.rows : 0;
  const std::int64_t col_block = tp_dim == 1 ? place.t.value() * local.cols : 0;
  return ShardExtent{Range{row_block + std::min(begin, local.rows), count}, Range{col_block, local.cols},
                     shard.rows - count};
}

AxisSet ParamShardSpec::replicated_axes() const {
  AxisSet axes;
  if (!gtp_sharded) axes = axes.with(AxisSet::kGtpRemat);
  if (!tp_dim) axes = axes.with(AxisSet::kTp);
  return axes;
}

}  // namespace muonbench
