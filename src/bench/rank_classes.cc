// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/rank_classes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
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

/// Parameters alike in all but where they live and what they are called. A model of a hundred thousand has a
/// few dozen kinds: what a seat has of a kind is looked at once.
class Kinds {
 public:
  explicit Kinds(const StepInputs& inputs) {
    std::map<std::tuple<Family, OptimizerKind, bool, std::string_view, ParamShardSpec, RowSplit>, std::size_t>
        known;
    of_.reserve(inputs.params.params.size());
    for (int i = 0; i < inputs.params.size(); ++i) {
      const ParamIndex p(i);
      const Parameter& param = inputs.params[p];
      const auto [kind, is_new] =
          known.try_emplace({family_of(param), param.optimizer, param.has_gradient(), param.group,
                             inputs.specs[p.at()], inputs.splits[p.at()]},
                            examples_.size());
      if (is_new) examples_.push_back(p);
      of_.push_back(kind->second);
    }
  }

  [[nodiscard]] std::size_t size() const { return examples_.size(); }
  [[nodiscard]] std::size_t of(ParamIndex p) const { return of_[p.at()]; }
  [[nodiscard]] ParamIndex example(std::size_t kind) const { return examples_[kind]; }

 private:
  std::vector<std::size_t> of_;  ///< by parameter
  std::vector<ParamIndex> examples_;
};

/// What ranks at a place hold of a parameter, and which pieces of its rows.
void add_shard(Fingerprint& print, std::size_t kind, const ShardExtent& extent, const RowSplit& split) {
  print.add(std::uint64_t{kind}).add(extent.rows.count).add(extent.cols.count);
  if (!split.is_whole()) print.add(extent.rows.begin % split.group());
}

/// Which exchanges a parameter passes through here, and whether it meets NS here.
void add_home(Fingerprint& print, const std::optional<Home>& home, const ParamShardSpec& spec,
              DomainPlace place) {
  int facts = home ? 1 : 0;
  if (home && home->g == place.g) facts += 2;
  if (home && home->is_at(place)) facts += 4;
  if (home) facts += 16 * static_cast<int>(home->spread);
  // Of TP peers that hold equal shards one alone sends, if there is one home.
  if (home && !spec.tp_dim && home->t == place.t) facts += 8;
  print.add(facts);
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
  Owned(const StepInputs& inputs, const Kinds& kinds) : inputs_(inputs), kinds_(kinds) {
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
      add_shard(print, kinds_.of(p), extent, inputs_.splits[p.at()]);
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
  const Kinds& kinds_;
  std::map<std::tuple<Family, Residence, int>, std::vector<ParamIndex>> params_;
};

/// Finds what the ranks of the seat of `rank` have in common.
class Survey {
 public:
  Survey(const StepInputs& inputs, const Kinds& kinds, CostsDependOn costs, WorldRank rank)
      : inputs_(inputs), kinds_(kinds), costs_(costs), rank_(rank), shards_(kinds.size()) {}

  Common make() {
    const Coordinates dense = inputs_.grid.coordinates(Family::kDense, rank_);
    const Coordinates expert = inputs_.grid.coordinates(Family::kExpert, rank_);
    Fingerprint print;
    for (int i = 0; i < inputs_.params.size(); ++i) {
      const ParamIndex p(i);
      const std::size_t kind = kinds_.of(p);
      const Parameter& alike = inputs_.params[kinds_.example(kind)];
      const Coordinates& at = alike.expert ? expert : dense;
      if (!is_held(alike, inputs_.residences[p.at()], at)) continue;
      if (!shards_[kind]) shards_[kind] = shard_of(kind, at.place);
      print.add(*shards_[kind]);
      if (costs_ != CostsDependOn::kShardsAndHomes) continue;
      add_home(print, inputs_.homes[p.at()], inputs_.specs[p.at()], at.place);
      print.add(inputs_.travel.wave(p));
      add_spread(print, p, at.place, spread_at(at.place, inputs_.homes[p.at()], inputs_.specs[p.at()]));
    }
    return {{deals_.begin(), deals_.end()}, {sums_.begin(), sums_.end()}, print.value()};
  }

 private:
  std::uint64_t shard_of(std::size_t kind, DomainPlace place) {
    const ParamIndex p = kinds_.example(kind);
    const Parameter& param = inputs_.params[p];
    const ParamShardSpec& spec = inputs_.specs[p.at()];
    const ShardExtent extent = spec.extent(place);
    Fingerprint print;
    add_shard(print, kind, extent, inputs_.splits[p.at()]);
    if (costs_ == CostsDependOn::kShardsAndSums && param.optimizer == OptimizerKind::kMuon)
      add_spread(print, p, place, distribution_of(spec));
    const StateRows state =
        state_rows(spec, StatePlacement::kAdamByRows, family_of(param), inputs_.grid, rank_);
    if (!state.group.axes.empty()) deals_.emplace(state.group, extent.rows.count);
    return print.value();
  }

  void add_spread(Fingerprint& print, ParamIndex p, DomainPlace place,
                  const std::optional<Distribution>& distribution) {
    if (!distribution) return;
    add_sums(sums_, inputs_, p, distribution);
    add_place(print, inputs_.splits[p.at()], place);
  }

  const StepInputs& inputs_;
  const Kinds& kinds_;
  CostsDependOn costs_;
  WorldRank rank_;
  std::vector<std::optional<std::uint64_t>> shards_;  ///< fingerprints by kind, of what is held here
  std::set<Deal> deals_;
  std::set<Sum> sums_;
};

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
  const Kinds kinds(inputs);
  std::optional<Owned> owned;
  if (costs == CostsDependOn::kShardsAndOwners) owned.emplace(inputs, kinds);
  std::map<Seat, Common> seats;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::vector<std::int64_t>>, RankClass> classes;
  for (int r = 0; r < inputs.grid.world_size(); ++r) {
    const WorldRank rank(r);
    const auto [seat, is_new] = seats.try_emplace(seat_of(inputs.grid, rank));
    if (is_new) seat->second = Survey(inputs, kinds, costs, rank).make();
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
