// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_model.h"

#include <map>
#include <random>
#include <stdexcept>

#include "src/plan/oversized.h"
#include "src/plan/waves.h"

namespace muonbench {

Parameter muon(std::string name, Shape shape, std::optional<int> tp_dim) {
  Parameter param;
  param.name = std::move(name);
  param.shape = shape;
  param.tp_dim = tp_dim;
  param.group = "dense";
  return param;
}

Parameter adam(std::string name, Shape shape, std::optional<int> tp_dim) {
  Parameter param = muon(std::move(name), shape, tp_dim);
  param.optimizer = OptimizerKind::kAdam;
  return param;
}

Parameter adam_vector(std::string name, std::int64_t size) {
  Parameter param = untagged(adam(std::move(name), Shape{size, 1}));
  param.dims = 1;
  return param;
}

Parameter untagged(Parameter param) {
  param.gtp_remat = false;
  return param;
}

Parameter without_gradient(Parameter param) {
  param.gradient = GradientFill::kNone;
  return param;
}

Parameter expert(Parameter param) {
  param.expert = true;
  param.group = "expert";
  return param;
}

HomeRule lpt(GtpOnlyHomes gtp_only) {
  return [gtp_only](const std::vector<HomeCandidate>& candidates, DomainShape domain) {
    return lpt_homes(candidates, domain, gtp_only);
  };
}

HomeRule any_homes(unsigned seed, GtpOnlyHomes gtp_only) {
  return [seed, gtp_only](const std::vector<HomeCandidate>& candidates, DomainShape domain) {
    std::mt19937 random(seed);
    std::vector<std::optional<Home>> homes;
    for (const HomeCandidate& candidate : candidates) {
      const GtpRank g(static_cast<int>(random() % static_cast<unsigned>(domain.gtp_remat)));
      const TpRank t(static_cast<int>(random() % static_cast<unsigned>(domain.tp)));
      switch (candidate.spec.sharding()) {
        case ParamSharding::kReplicated: homes.emplace_back(std::nullopt); break;
        case ParamSharding::kGtpRemat:
          homes.emplace_back(Home{g, t});
          if (domain.tp > 1 && gtp_only == GtpOnlyHomes::kColumn) homes.back()->t.reset();
          break;
        case ParamSharding::kTp:
        case ParamSharding::kGtpRematAndTp: homes.emplace_back(Home{g, t}); break;
      }
    }
    return homes;
  };
}

HomeRule any_spreads(unsigned seed) {
  return [seed](const std::vector<HomeCandidate>& candidates, DomainShape domain) {
    std::vector<std::optional<Home>> homes = any_homes(seed)(candidates, domain);
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < homes.size(); ++i) {
      std::vector<NsSpread> ways = spreads_of(candidates[i].spec);
      ways.push_back(NsSpread::kNone);
      const NsSpread way = ways[random() % ways.size()];
      if (homes[i] && way != NsSpread::kNone) homes[i] = Home{homes[i]->g, std::nullopt, way};
    }
    return homes;
  };
}

Parameter fused(Parameter param, std::vector<std::int64_t> qkv_split) {
  param.qkv_split = std::move(qkv_split);
  return param;
}

TestModel::TestModel(std::vector<Parameter> params, GridShape shape, const ModelOptions& options)
    : params_{std::move(params)},
      grid_(shape),
      inputs_{params_, grid_, {}, place_params(params_, shape), {},
              {},      {},    {}, options.ns_batch_size,        options.param_dtype},
      pad_for_alignment_(options.pad_for_alignment) {
  inputs_.groups = muon_groups(params_, MomentumRule{.lr = 0.01F, .momentum = 0.95F});
  inputs_.adam = AdamRule{.lr = 0.01F, .beta1 = 0.9F, .beta2 = 0.95F, .eps = 1e-8F};
  inputs_.ns.steps.assign(5, {3.4445, -4.7750, 2.0315});
  inputs_.homes.resize(params_.params.size());
  for (std::size_t i = 0; i < params_.params.size(); ++i) {
    Parameter& param = params_.params[i];
    param.value_key = i + 1;
    inputs_.splits.emplace_back(param.qkv_split);
    inputs_.specs.push_back(
        ParamShardSpec::from_param(param, grid_.domain(family_of(param)), options.pad_for_alignment));
  }
  inputs_.travel = Travel{options.exchange, options.return_dtype};
  inputs_.ns.extra_scale_factor = 0.7;
  inputs_.queues = queue_groups(inputs_.groups, grid_, options.queues, "test", options.exchange);
  inputs_.moment_dtype = options.moment_dtype;
  OwnedParams& owned = inputs_.layer_wise;
  owned.owners = assign_owners({params_, grid_, inputs_.specs, inputs_.residences, inputs_.splits},
                               options.owners, options.layer_wise_adam);
  owned.homes.resize(params_.params.size());
  if (options.waves > 1) {
    inputs_.travel.wave_of.resize(params_.params.size());
    owned.wave_of.resize(params_.params.size());
  }
  for (const ParamGroup& group : inputs_.groups) {
    give_homes(options, group, group.params, inputs_.homes, inputs_.travel.wave_of);
    std::map<std::optional<int>, std::vector<ParamIndex>> by_owner;
    for (const ParamIndex p : group.params) by_owner[owned.owners[p.at()]].push_back(p);
    for (const auto& [owner, own] : by_owner) give_homes(options, group, own, owned.homes, owned.wave_of);
  }
  if (options.waves > 1 && options.queues == QueueUse::kConcurrent) inputs_.queues.put_ns_beside();
}

void TestModel::give_homes(const ModelOptions& options, const ParamGroup& group,
                           const std::vector<ParamIndex>& params, std::vector<std::optional<Home>>& homes,
                           std::vector<int>& wave_of) const {
  const DomainShape domain = grid_.domain(group.family);
  std::vector<HomeCandidate> candidates;
  candidates.reserve(params.size());
  for (const ParamIndex p : params)
    candidates.push_back({params_[p].name, inputs_.specs[p.at()], inputs_.splits[p.at()]});
  const auto given = options.homes(candidates, domain);
  std::vector<ParamIndex> routed;
  std::vector<WaveCandidate> travelling;
  for (std::size_t i = 0; i < given.size(); ++i) {
    homes[params[i].at()] = given[i];
    if (!given[i] || !given[i]->is_routed()) continue;
    routed.push_back(params[i]);
    travelling.push_back({*given[i], given[i]->matrix_of(candidates[i].spec).elements()});
  }
  if (options.waves == 1) return;
  const std::vector<int> assigned = assign_waves(travelling, domain, options.waves);
  for (std::size_t i = 0; i < routed.size(); ++i) wave_of[routed[i].at()] = assigned[i];
}

static std::size_t index_of(const ParamSet& params, const std::string& name) {
  const auto found = params.find(name);
  if (!found) throw std::out_of_range(name);
  return found->at();
}

const ParamShardSpec& TestModel::spec(const std::string& name) const {
  return inputs_.specs[index_of(params_, name)];
}
const std::optional<Home>& TestModel::home(const std::string& name) const {
  return inputs_.homes[index_of(params_, name)];
}

std::vector<StepProgram> TestModel::programs(std::string_view mode) const {
  std::vector<StepProgram> all;
  for (int r = 0; r < grid_.world_size(); ++r)
    all.push_back(build_program(mode_named(mode), inputs_, WorldRank(r)));
  return all;
}

std::vector<StepCounts> TestModel::counts(std::string_view mode) const {
  std::vector<StepCounts> all;
  for (int r = 0; r < grid_.world_size(); ++r)
    all.push_back(count_step(build_program(mode_named(mode), inputs_, WorldRank(r)), grid_, WorldRank(r)));
  return all;
}

std::vector<DomainShape> all_domains() {
  std::vector<DomainShape> domains;
  for (const int world : {1, 2, 4, 6, 8})
    for (int tp = 1; tp <= world; ++tp)
      if (world % tp == 0) domains.push_back({world / tp, tp});
  return domains;
}

std::vector<Parameter> fused_params() {
  return {
      fused(muon("fused_rows_cut_twice", {96, 20}, 0), {8, 2, 2}),
      fused(muon("fused_cols_cut", {30, 48}, 1), {6, 2, 2}),
      fused(untagged(muon("fused_whole", {24, 12})), {4, 1, 1}),
      muon("not_fused", {24, 48}, 0),
      fused(muon("fused_rows_cut", {60, 7}), {2, 2, 1}),
      fused(muon("fused_one_group", {48, 16}, 0), {24, 12, 12}),
      fused(muon("fused_gated", {72, 10}), {3, 3, 1, 2}),
      fused(without_gradient(muon("fused_frozen", {24, 6}, 0)), {2, 1, 1}),
      fused(muon("fused_rows_cut_twice_too", {96, 20}, 0), {8, 2, 2}),
  };
}

std::vector<Parameter> mixed_params() {
  return {
      muon("rows_cut_twice", {72, 20}, 0),
      muon("cols_cut", {31, 48}, 1),
      untagged(muon("whole", {20, 12})),
      muon("rows_cut_twice_wide", {24, 50}, 0),
      muon("cols_cut_short", {3, 24}, 1),
      muon("rows_cut", {62, 12}),
      without_gradient(muon("frozen", {48, 24}, 0)),
      muon("rows_cut_too", {62, 12}),
      muon("one_row", {1, 9}),
      untagged(muon("whole_too", {20, 12})),
      muon("one_col", {29, 1}),
      muon("cols_cut_tall", {40, 24}, 1),
      adam("table", {48, 6}, 0),
      adam("table_cols_cut", {19, 24}, 1),
      adam("table_rows_cut", {37, 5}),
      without_gradient(adam("table_frozen", {24, 3}, 0)),
      untagged(adam("table_whole", {11, 3})),
      adam_vector("norm", 33),
      adam_vector("norm_of_one", 1),
  };
}

}  // namespace muonbench
