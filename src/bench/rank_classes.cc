// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/rank_classes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/even_part.h"
#include "src/base/hash.h"
#include "src/plan/distribution.h"

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

/// Elements to be added up over a group: what decides a rank's part of the sums, beside its index.
using Sum = std::pair<GroupKey, std::int64_t>;

/// What all ranks of one seat have in common.
struct Common {
  std::vector<Deal> deals;
  std::vector<Sum> sums;
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
  print.add(static_cast<int>(home->spread));
  print.add(home->g == place.g ? 1 : 0).add(home->is_at(place) ? 1 : 0);
  // Of TP peers that hold equal shards one alone sends, if there is one home.
  if (!spec.tp_dim && home->t) print.add(home->t == place.t ? 1 : 0);
}

/// What NS adds up of a weight, in whatever batches it goes: parts of sums repeat with the size of a group.
void add_sums(std::set<Sum>& sums, const StepInputs& inputs, ParamIndex p,
              const std::optional<Distribution>& distribution) {
  if (!distribution || !inputs.params[p].has_gradient()) return;
  const GroupKey group{family_of(inputs.params[p]), AxisSet{distribution->axis}};
  const int most = std::min(inputs.ns_batch_size, inputs.grid.group_size(group));
  for (const Shape& matrix : inputs.splits[p.at()].matrices(inputs.params[p].shape)) {
    const std::int64_t side = NsSlice{matrix, distribution->side}.gram_side();
    for (std::int64_t n = 1; n <= most; ++n) {
      sums.emplace(group, n);
      sums.emplace(group, n * side * side);
    }
  }
}

/// Whoever has a weight apart knows which rows of it; a gather may bring others, which the place tells.
void add_place(Fingerprint& print, const RowSplit& split, DomainPlace place) {
  if (!split.is_whole()) print.add(place.g.value()).add(place.t.value());
}

/// How a weight at home is spread over the rank at `place` and others; none if it is not.
std::optional<Distribution> spread_at(DomainPlace place, const std::optional<Home>& home,
                                      const ParamShardSpec& spec) {
  if (!home || !home->is_at(place)) return std::nullopt;
  return distribution_as(home->spread, spec);
}

/// What each replica owns of what the ranks of a residence hold, in model order.
class Owned {
 public:
  explicit Owned(const StepInputs& inputs) : inputs_(inputs) {
    for (int i = 0; i < inputs.params.size(); ++i) {
      const ParamIndex p(i);
      const Family family = family_of(inputs.params[p]);
      if (const auto owner = inputs.layer_wise.owners[p.at()])
        params_[{family, inputs.residences[p.at()], *owner}].push_back(p);
    }
  }

  /// What tells the costs of a rank from those of its dp peers: its state, its work and its part in
  /// exchanges.
  [[nodiscard]] std::uint64_t fingerprint_of(WorldRank rank) const {
    Fingerprint print;
    for (const Family family : {Family::kDense, Family::kExpert}) {
      const Coordinates at = inputs_.grid.coordinates(family, rank);
      const auto found = params_.find({family, Residence{at.pp, at.ep}, at.dp});
      if (found != params_.end()) add(print, found->second, at.place, rank);
    }
    return print.value();
  }

 private:
  void add(Fingerprint& print, const std::vector<ParamIndex>& params, DomainPlace place,
           WorldRank rank) const {
    for (const ParamIndex p : params) {
      const Parameter& param = inputs_.params[p];
      const ParamShardSpec& spec = inputs_.specs[p.at()];
      const ShardExtent extent = spec.extent(place);
      add_shard(print, param, spec, extent);
      add_split(print, inputs_.splits[p.at()], extent);
      add_home(print, inputs_.layer_wise.homes[p.at()], spec, place);
      if (const auto spread = spread_at(place, inputs_.layer_wise.homes[p.at()], spec)) {
        std::set<Sum> sums;
        add_sums(sums, inputs_, p, spread);
        for (const auto& [group, count] : sums)
          print.add(even_part(count, inputs_.grid.group_size(group),
                              inputs_.grid.index_in_group(group, rank).value()));
        add_place(print, inputs_.splits[p.at()], place);
      }
      if (!inputs_.layer_wise.wave_of.empty()) print.add(inputs_.layer_wise.wave_of[p.at()]);
      if (param.optimizer == OptimizerKind::kMuon) continue;
      print.add(state_rows(spec, StatePlacement::kAdamByOwnersRows, family_of(param), inputs_.grid, rank,
                           inputs_.layer_wise.owners[p.at()].value())
                    .rows.count);
    }
  }

  const StepInputs& inputs_;
  std::map<std::tuple<Family, Residence, int>, std::vector<ParamIndex>> params_;
};

Common common_at(const StepInputs& inputs, CostsDependOn costs, WorldRank rank) {
  const Coordinates dense = inputs.grid.coordinates(Family::kDense, rank);
  const Coordinates expert = inputs.grid.coordinates(Family::kExpert, rank);
  std::set<Deal> deals;
  std::set<Sum> sums;
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
    std::optional<Distribution> spread;
    if (costs == CostsDependOn::kShardsAndHomes) spread = spread_at(at.place, inputs.homes[p.at()], spec);
    if (costs == CostsDependOn::kShardsAndSums && param.optimizer == OptimizerKind::kMuon)
      spread = distribution_of(spec);
    if (spread) {
      add_sums(sums, inputs, p, spread);
      add_place(print, inputs.splits[p.at()], at.place);
    }
    const StateRows state =
        state_rows(spec, StatePlacement::kAdamByRows, family_of(param), inputs.grid, rank);
    if (!state.group.axes.empty()) deals.emplace(state.group, extent.rows.count);
  }
  return {{deals.begin(), deals.end()}, {sums.begin(), sums.end()}, print.value()};
}

std::vector<std::int64_t> shares(const Common& common, const RankGrid& grid, WorldRank rank) {
  std::vector<std::int64_t> found;
  found.reserve(common.deals.size() + common.sums.size());
  for (const auto& [group, count] : common.deals)
    found.push_back(deal_rows(count, grid.group_size(group), grid.index_in_group(group, rank)).count);
  for (const auto& [group, count] : common.sums)
    found.push_back(even_part(count, grid.group_size(group), grid.index_in_group(group, rank).value()));
  return found;
}

}  // namespace

std::vector<RankClass> rank_classes(const StepInputs& inputs, CostsDependOn costs) {
  std::optional<Owned> owned;
  if (costs == CostsDependOn::kShardsAndOwners) owned.emplace(inputs);
  std::map<Seat, Common> seats;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::vector<std::int64_t>>, RankClass> classes;
  for (int r = 0; r < inputs.grid.world_size(); ++r) {
    const WorldRank rank(r);
    const auto [seat, is_new] = seats.try_emplace(seat_of(inputs.grid, rank));
    if (is_new) seat->second = common_at(inputs, costs, rank);
    RankClass& mine = classes[{seat->second.shards, owned ? owned->fingerprint_of(rank) : 0,
                               shares(seat->second, inputs.grid, rank)}];
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
