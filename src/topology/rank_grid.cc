// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/topology/rank_grid.h"

#include "src/base/check.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {

std::string name_of(GroupKey key) {
  std::vector<std::string> axes;
  if (key.axes.has(AxisSet::kDp)) axes.emplace_back("dp");
  if (key.axes.has(AxisSet::kGtpRemat)) axes.emplace_back("gtp_remat");
  if (key.axes.has(AxisSet::kTp)) axes.emplace_back("tp");
  const std::string joined = axes.empty() ? "self" : join(axes, " x ");
  return key.family == Family::kExpert ? "expert " + joined : joined;
}

RankGrid::RankGrid(GridShape shape) : shape_(shape) {
  const std::int64_t expert = std::int64_t{shape.expert_tp} * shape.ep * shape.expert_gtp_remat * shape.pp;
  if (shape.world_size() % expert != 0) {
    throw ConfigError(
        text("world size {} = parallelism.tp({}) x gtp_remat({}) x dp({}) x pp({}) is not a multiple of "
             "expert_tp({}) x ep({}) x expert_gtp_remat({}) x pp({}) = {}",
             shape.world_size(), shape.tp, shape.gtp_remat, shape.dp, shape.pp, shape.expert_tp, shape.ep,
             shape.expert_gtp_remat, shape.pp, expert));
  }
  dense_ = {shape.tp, 1, shape.gtp_remat, shape.dp, shape.pp};
  expert_ = {shape.expert_tp, shape.ep, shape.expert_gtp_remat, static_cast<int>(shape.world_size() / expert),
             shape.pp};
}

DomainShape RankGrid::domain(Family family) const {
  const Factors& f = factors_of(family);
  return DomainShape{f.gtp_remat, f.tp};
}

int RankGrid::data_parallel(Family family) const { return factors_of(family).dp; }

Coordinates RankGrid::coordinates(Family family, WorldRank rank) const {
  const Factors& f = factors_of(family);
  int rest = rank.value();
  MUONBENCH_CHECK(rest >= 0 && rest < world_size(), "rank {} of a world of {}", rest, world_size());
  Coordinates at;
  at.place.t = TpRank(rest % f.tp);
  rest /= f.tp;
  at.ep = rest % f.ep;
  rest /= f.ep;
  at.place.g = GtpRank(rest % f.gtp_remat);
  rest /= f.gtp_remat;
  at.dp = rest % f.dp;
  at.pp = rest / f.dp;
  return at;
}

WorldRank RankGrid::rank_at(Family family, const Coordinates& at) const {
  const Factors& f = factors_of(family);
  return WorldRank(at.place.t.value() +
                   f.tp * (at.ep + f.ep * (at.place.g.value() + f.gtp_remat * (at.dp + f.dp * at.pp))));
}

int RankGrid::group_size(GroupKey key) const {
  const DomainShape domain = this->domain(key.family);
  int size = 1;
  if (key.axes.has(AxisSet::kTp)) size *= domain.tp;
  if (key.axes.has(AxisSet::kGtpRemat)) size *= domain.gtp_remat;
  if (key.axes.has(AxisSet::kDp)) size *= data_parallel(key.family);
  return size;
}

GroupKey RankGrid::canonical(GroupKey key) const {
  GroupKey kept{key.family, AxisSet{}};
  for (const AxisSet::Axis axis : {AxisSet::kTp, AxisSet::kGtpRemat, AxisSet::kDp}) {
    if (key.axes.has(axis) && group_size({key.family, AxisSet{axis}}) > 1) kept.axes = kept.axes.with(axis);
  }
  return kept;
}

std::vector<WorldRank> RankGrid::members(GroupKey key, WorldRank rank) const {
  const Factors& f = factors_of(key.family);
  const Coordinates mine = coordinates(key.family, rank);
  const auto span = [&](AxisSet::Axis axis, int all, int own) {
    return key.axes.has(axis) ? std::pair{0, all} : std::pair{own, own + 1};
  };
  const auto [dp_begin, dp_end] = span(AxisSet::kDp, f.dp, mine.dp);
  const auto [g_begin, g_end] = span(AxisSet::kGtpRemat, f.gtp_remat, mine.place.g.value());
  const auto [t_begin, t_end] = span(AxisSet::kTp, f.tp, mine.place.t.value());

  std::vector<WorldRank> ranks;
  ranks.reserve(static_cast<std::size_t>(group_size(key)));
  for (int dp = dp_begin; dp < dp_end; ++dp)
    for (int g = g_begin; g < g_end; ++g)
      for (int t = t_begin; t < t_end; ++t)
        ranks.push_back(rank_at(key.family, {DomainPlace{GtpRank(g), TpRank(t)}, mine.ep, dp, mine.pp}));
  return ranks;
}

GroupRank RankGrid::index_in_group(GroupKey key, WorldRank rank) const {
  return index_in_group(key, coordinates(key.family, rank));
}

GroupRank RankGrid::index_in_group(GroupKey key, const Coordinates& at) const {
  const Factors& f = factors_of(key.family);
  int index = 0;
  if (key.axes.has(AxisSet::kDp)) index = at.dp;
  if (key.axes.has(AxisSet::kGtpRemat)) index = index * f.gtp_remat + at.place.g.value();
  if (key.axes.has(AxisSet::kTp)) index = index * f.tp + at.place.t.value();
  return GroupRank(index);
}

}  // namespace muonbench
