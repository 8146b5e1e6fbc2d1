// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/rank_classes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

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

std::vector<Deal> deals_at(const StepInputs& inputs, WorldRank rank) {
  std::set<Deal> deals;
  for (int i = 0; i < inputs.params.size(); ++i) {
    const ParamIndex p(i);
    const Parameter& param = inputs.params[p];
    if (!is_held(param, inputs.residences[p.at()], inputs.grid, rank)) continue;
    const Family family = family_of(param);
    const ParamShardSpec& spec = inputs.specs[p.at()];
    const StateRows state = state_rows(spec, StatePlacement::kAdamByRows, family, inputs.grid, rank);
    if (state.group.axes.empty()) continue;
    deals.emplace(state.group, spec.extent(inputs.grid.coordinates(family, rank).place).rows.count);
  }
  return {deals.begin(), deals.end()};
}

std::vector<std::int64_t> shares(const std::vector<Deal>& deals, const RankGrid& grid, WorldRank rank) {
  std::vector<std::int64_t> rows;
  rows.reserve(deals.size());
  for (const auto& [group, count] : deals)
    rows.push_back(deal_rows(count, grid.group_size(group), grid.index_in_group(group, rank)).count);
  return rows;
}

}  // namespace

std::vector<RankClass> rank_classes(const StepInputs& inputs) {
  std::map<Seat, std::vector<Deal>> deals;
  std::map<std::pair<Seat, std::vector<std::int64_t>>, RankClass> classes;
  for (int r = 0; r < inputs.grid.world_size(); ++r) {
    const WorldRank rank(r);
    const Seat seat = seat_of(inputs.grid, rank);
    const auto [known, is_new] = deals.try_emplace(seat);
    if (is_new) known->second = deals_at(inputs, rank);
    RankClass& mine = classes[{seat, shares(known->second, inputs.grid, rank)}];
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
