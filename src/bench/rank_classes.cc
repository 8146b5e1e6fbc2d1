// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/rank_classes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/hash.h"

namespace muonbench {
namespace {

/// Coordinates that decide what a rank holds; dp alone is left out.
using Seat = std::tuple<DomainPlace, int, DomainPlace, int>;

Seat seat_of(const RankGrid& grid, WorldRank rank) {
  const Coordinates dense = grid.coordinates(Family::kDense, rank);
  const Coordinates expert = grid.coordinates(Family::kExpert, rank);
  return {dense.place, dense.pp, expert.place, expert.ep};
}

/// Rows to be dealt out among the ranks of a group: what decides a share, beside the rank's index in the
/// group.
using Deal = std::pair<GroupKey, std::int64_t>;

/// What all ranks of one seat have in common.
struct Common {
  std::vector<Deal> deals;
  std::uint64_t shards = 0;  ///< fingerprint of what is held, and of what each rank does with it
};

void add_shard(Fingerprint& print, const Parameter& param, const ParamShardSpec& spec,
               const ShardExtent& extent) {
  print.add(static_cast<int>(family_of(param))).add(static_cast<int>(param.optimizer));
  print.add(param.has_gradient() ? 1 : 0).add(param.group).add(spec.tp_dim.value_or(-1));
  print.add(spec.gtp_sharded ? 1 : 0).add(spec.full_shape.rows).add(spec.full_shape.cols);
  print.add(spec.pad_length).add(extent.rows.count).add(extent.cols.count);
}

/// Which pieces of its rows a shard has.
void add_split(Fingerprint& print, const RowSplit& split, const ShardExtent& extent) {
  if (split.is_whole()) return;
  for (const std::int64_t rows : split.pieces()) print.add(rows);
  print.add(extent.rows.begin % split.group());
}

/// Which exchanges a parameter passes through here, and whether it meets NS here.
void add_home(Fingerprint& print, const std::optional<Home>& home, const ParamShardSpec& spec,
              DomainPlace place) {
  print.add(home ? 1 : 0);
  if (!home) return;
  print.add(home->g == place.g ? 1 : 0).add(home->is_at(place) ? 1 : 0);
  // Of TP peers that hold equal shards one alone sends, if there is one home.
  if (!spec.tp_dim && home->t) print.add(home->t == place.t ? 1 : 0);
}

Common common_at(const StepInputs& inputs, CostsDependOn costs, WorldRank rank) {
  const Coordinates dense = inputs.grid.coordinates(Family::kDense, rank);
  const Coordinates expert = inputs.grid.coordinates(Family::kExpert, rank);
  std::set<Deal> deals;
  Fingerprint print;
  for (int i = 0; i < inputs.params.size(); ++i) {
    const ParamIndex p(i);
    const Parameter& param = inputs.params[p];
    const Coordinates& at = param.expert ? expert : dense;
    if (!is_held(param, inputs.residences[p.at()], at)) continue;
    const ParamShardSpec& spec = inputs.specs[p.at()];
    const ShardExtent extent = spec.extent(at.place);
    add_shard(print, param, spec, extent);
    add_split(print, inputs.splits[p.at()], extent);
    if (costs == CostsDependOn::kShardsAndHomes) {
      add_home(print, inputs.homes[p.at()], spec, at.place);
      print.add(inputs.travel.wave(p));
    }
    const StateRows state =
        state_rows(spec, StatePlacement::kAdamByRows, family_of(param), inputs.grid, rank);
    if (!state.group.axes.empty()) deals.emplace(state.group, extent.rows.count);
  }
  return {{deals.begin(), deals.end()}, print.value()};
}

std::vector<std::int64_t> shares(const std::vector<Deal>& deals, const RankGrid& grid, WorldRank rank) {
  std::vector<std::int64_t> rows;
  rows.reserve(deals.size());
  for (const auto& [group, count] : deals)
    rows.push_back(deal_rows(count, grid.group_size(group), grid.index_in_group(group, rank)).count);
  return rows;
}

}  // namespace

std::vector<RankClass> rank_classes(const StepInputs& inputs, CostsDependOn costs) {
  std::map<Seat, Common> seats;
  std::map<std::pair<std::uint64_t, std::vector<std::int64_t>>, RankClass> classes;
  for (int r = 0; r < inputs.grid.world_size(); ++r) {
    const WorldRank rank(r);
    const auto [seat, is_new] = seats.try_emplace(seat_of(inputs.grid, rank));
    if (is_new) seat->second = common_at(inputs, costs, rank);
    RankClass& mine = classes[{seat->second.shards, shares(seat->second.deals, inputs.grid, rank)}];
    if (mine.members.empty()) mine.representative = rank;
    mine.members.push_back(rank);
  }
  std::vector<RankClass> found;
  found.reserve(classes.size());
  for (auto& [key, one] : classes) found.push_back(std::move(one));
  std::sort(found.begin(), found.end(),
            [](const RankClass& a, const RankClass& b) { return a.representative < b.representative; });
  return found;
}

}  // namespace muonbench
