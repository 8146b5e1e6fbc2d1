// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/resolve.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/bench/countable.h"
#include "src/bench/thresholds.h"
#include "src/model/build_params.h"
#include "src/ns/coefficients.h"
#include "src/ns/schedule.h"
#include "src/plan/owners.h"
#include "src/plan/waves.h"

namespace muonbench {
namespace {

MomentumRule muon_rule(const MuonConfig& muon) {
  return MomentumRule{static_cast<float>(muon.lr), muon.momentum, static_cast<float>(muon.weight_decay),
                      muon.nesterov, muon.weight_decay_method};
}

GroupRules group_rules(const MuonConfig& muon) {
  GroupRules rules;
  for (const auto& [label, group] : muon.groups) {
    MomentumRule rule = muon_rule(muon);
    rule.lr = static_cast<float>(group.lr);
    rule.weight_decay = static_cast<float>(group.weight_decay);
    rules.emplace(label, rule);
  }
  return rules;
}

AdamRule adam_rule(const AdamConfig& adam) {
  return AdamRule{static_cast<float>(adam.lr),
                  adam.beta1,
                  adam.beta2,
                  static_cast<float>(adam.eps),
                  static_cast<float>(adam.weight_decay),
                  adam.decoupled_weight_decay};
}

NsOptions ns_options(const MuonConfig& muon, Backend backend) {
  NsOptions options{resolve_schedule(muon.coefficient_type, muon.num_ns_steps, muon.custom_coefficients),
                    muon.fp32_matmul_prec, muon.ns_algorithm, muon.scale_mode, muon.extra_scale_factor};
  switch (backend) {
    case Backend::kCpu: break;  // BLAS has no bf16: operands hold bf16 values in fp32
    case Backend::kCuda:
      if (options.precision == MatmulPrecision::kMedium) options.storage = DType::kBf16;
      options.batching = NsBatching::kTogether;
      break;
  }
  return options;
}

QueueUse queue_use(const RunConfig& config) {
  if (!config.muon.concurrent_groups) return QueueUse::kSwitchedOff;
  switch (config.run.backend) {
    case Backend::kCpu: return QueueUse::kBackendRunsInTurn;
    case Backend::kCuda: return QueueUse::kConcurrent;
  }
  return QueueUse::kBackendRunsInTurn;
}

/// Which parameters NS takes apart.
std::vector<RowSplit> row_splits(const MuonConfig& muon, const ParamSet& params) {
  std::vector<RowSplit> splits(params.params.size());
  if (!muon.split_qkv) return splits;
  for (std::size_t i = 0; i < splits.size(); ++i)
    if (params.params[i].optimizer == OptimizerKind::kMuon) splits[i] = RowSplit(params.params[i].qkv_split);
  if (std::all_of(splits.begin(), splits.end(), [](const RowSplit& split) { return split.is_whole(); }))
    throw ConfigError(
        "muon.split_qkv: expected false, as no Muon parameter of the model has a qkv_split, got true");
  return splits;
}

/// Parameters whose homes are assigned together: one rank's view of a domain, in model order. Ranks of one
/// stage and ep index hold equal lists.
struct Pool {
  DomainShape domain;
  std::vector<ParamIndex> params;

  [[nodiscard]] std::vector<HomeCandidate> candidates(const StepInputs& inputs) const {
    std::vector<HomeCandidate> found;
    found.reserve(params.size());
    for (const ParamIndex p : params)
      found.push_back({inputs.params[p].name, inputs.specs[p.at()], inputs.splits[p.at()]});
    return found;
  }
};

/// By parameter.
using Homes = std::vector<std::optional<Home>>;
using Owners = std::vector<std::optional<int>>;

void store(const Pool& pool, const Homes& found, Homes& homes) {
  for (std::size_t i = 0; i < pool.params.size(); ++i) homes[pool.params[i].at()] = found[i];
}

/// LPT balances a domain over all groups that share it; the other policies count within each group.
enum class Pooling { kAcrossGroups, kPerGroup };

/// `owners` may be empty: all replicas hold equal lists. Else each replica has a list of what it owns.
std::vector<Pool> pools_of(const StepInputs& inputs, const Owners& owners, Pooling pooling) {
  std::map<std::tuple<Family, Residence, std::optional<int>, std::size_t>, Pool> pools;
  for (std::size_t g = 0; g < inputs.groups.size(); ++g) {
    const ParamGroup& group = inputs.groups[g];
    for (const ParamIndex p : group.params) {
      const std::optional<int> owner = owners.empty() ? std::nullopt : owners[p.at()];
      Pool& pool =
          pools[{group.family, inputs.residences[p.at()], owner, pooling == Pooling::kPerGroup ? g : 0}];
      pool.domain = inputs.grid.domain(group.family);
      pool.params.push_back(p);
    }
  }
  std::vector<Pool> found;
  found.reserve(pools.size());
  for (auto& [key, pool] : pools) {
    std::sort(pool.params.begin(), pool.params.end());
    found.push_back(std::move(pool));
  }
  return found;
}

/// Every entry, used or not: a name that is no parameter's, a home outside the parameter's domain.
void refuse_impossible_homes(const MuonConfig& muon, const StepInputs& inputs) {
  std::vector<std::string> names;
  names.reserve(inputs.params.params.size());
  for (const Parameter& param : inputs.params.params) names.push_back(param.name);
  for (const auto& [name, home] : muon.homes) {
    const std::optional<ParamIndex> p = inputs.params.find(name);
    if (!p) {
      const std::string nearest = nearest_name(name, names);
      throw ConfigError(text("muon.homes.{}: no such parameter{}", name,
                             nearest.empty() ? "" : text(", did you mean {}?", nearest)));
    }
    require_home_inside(name, home, inputs.specs[p->at()].domain);
  }
}

/// Homes by the policy, and names that explicit homes leave out.
ExplicitHomes homes_of(const MuonConfig& muon, const StepInputs& inputs, const Owners& owners) {
  ExplicitHomes all{Homes(inputs.params.params.size()), {}};
  switch (muon.home_policy) {
    case HomePolicy::kLptNsCost:
      for (const Pool& pool : pools_of(inputs, owners, Pooling::kAcrossGroups))
        store(pool, lpt_homes(pool.candidates(inputs), pool.domain, muon.gtp_only_homes), all.homes);
      break;
    case HomePolicy::kRoundRobin:
      for (const Pool& pool : pools_of(inputs, owners, Pooling::kPerGroup))
        store(pool, round_robin_homes(pool.candidates(inputs), pool.domain, muon.gtp_only_homes), all.homes);
      break;
    case HomePolicy::kExplicit:
      for (const Pool& pool : pools_of(inputs, owners, Pooling::kPerGroup)) {
        const ExplicitHomes homes =
            explicit_homes(pool.candidates(inputs), pool.domain, muon.homes, muon.gtp_only_homes);
        store(pool, homes.homes, all.homes);
        all.absent.insert(all.absent.end(), homes.absent.begin(), homes.absent.end());
      }
      break;
  }
  return all;
}

void assign_homes(const MuonConfig& muon, StepInputs& inputs, std::vector<std::string>& warnings) {
  if (muon.home_policy == HomePolicy::kExplicit) refuse_impossible_homes(muon, inputs);
  const auto [homes, absent] = homes_of(muon, inputs, {});
  inputs.homes = homes;
  OwnedParams& owned = inputs.layer_wise;
  if (!owned.owners.empty()) owned.homes = homes_of(muon, inputs, owned.owners).homes;
  if (!absent.empty()) {
    warnings.push_back(
        text("muon.homes names no home for {} parameters, which go round robin: {}{}", absent.size(),
             join({absent.begin(),
                   absent.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(absent.size(), 5))}),
             absent.size() > 5 ? ", ..." : ""));
  }
}

/// Cuts what each group routes over a domain into waves; by parameter. `owners` as in pools_of.
std::vector<int> waves_of(const StepInputs& inputs, const Homes& homes, const Owners& owners, int waves) {
  std::vector<int> wave_of(inputs.params.params.size());
  for (const Pool& pool : pools_of(inputs, owners, Pooling::kPerGroup)) {
    std::vector<ParamIndex> routed = pool.params;
    std::erase_if(routed, [&](ParamIndex p) { return !homes[p.at()]; });
    std::vector<WaveCandidate> candidates;
    candidates.reserve(routed.size());
    for (const ParamIndex p : routed)
      candidates.push_back({*homes[p.at()], inputs.specs[p.at()].full_shape.elements()});
    const std::vector<int> assigned = assign_waves(candidates, pool.domain, waves);
    for (std::size_t i = 0; i < routed.size(); ++i) wave_of[routed[i].at()] = assigned[i];
  }
  return wave_of;
}

/// And puts NS beside what travels where the backend has queues.
void send_in_waves(const RunConfig& config, StepInputs& inputs) {
  const int waves = config.muon.exchange_chunks;
  if (waves == 1) return;
  OwnedParams& owned = inputs.layer_wise;
  inputs.travel.wave_of = waves_of(inputs, inputs.homes, {}, waves);
  if (!owned.owners.empty()) owned.wave_of = waves_of(inputs, owned.homes, owned.owners, waves);
  if (config.run.backend == Backend::kCuda) inputs.queues.put_ns_beside();
}

}  // namespace

GridShape grid_shape(const ParallelismConfig& p) {
  return GridShape{p.tp, p.gtp_remat, p.dp, p.pp, p.ep, p.expert_tp, p.expert_gtp_remat};
}

StepInputs make_step_inputs(const RunConfig& config, const ParamSet& params, const RankGrid& grid,
                            std::vector<std::string>& warnings) {
  StepInputs inputs{params,
                    grid,
                    {},
                    place_params(params, grid.shape()),
                    {},
                    muon_groups(params, muon_rule(config.muon), group_rules(config.muon)),
                    adam_rule(config.adam),
                    ns_options(config.muon, config.run.backend),
                    config.muon.ns_batch_size,
                    config.run.param_dtype};
  inputs.splits = row_splits(config.muon, params);
  inputs.travel = Travel{config.muon.exchange, config.muon.return_dtype};
  refuse_uncountable_work(params, inputs.splits, inputs.ns);
  for (const Parameter& param : params.params) {
    inputs.specs.push_back(ParamShardSpec::from_param(param, grid.domain(family_of(param)),
                                                      config.parallelism.pad_for_alignment));
  }
  refuse_uncountable_bytes(params, inputs.specs);
  if (config.runs("distributed")) refuse_uncountable_grams(params, inputs.splits, inputs.specs, inputs.ns);
  inputs.queues = queue_groups(inputs.groups, grid, queue_use(config),
                               std::string(name_in(kBackendNames, config.run.backend)), config.muon.exchange);
  inputs.moment_dtype = config.adam.moment_dtype;
  if (config.runs("layer_wise"))
    inputs.layer_wise.owners = assign_owners({params, grid, inputs.specs, inputs.residences, inputs.splits},
                                             config.layer_wise.policy, config.layer_wise.adam);
  assign_homes(config.muon, inputs, warnings);
  send_in_waves(config, inputs);
  return inputs;
}

ResolvedRun::ResolvedRun(RunConfig run_config)
    : config(std::move(run_config)),
      params(build_params(config.model, config.gradients)),
      grid(grid_shape(config.parallelism)),
      injections(resolve_injections(config.gradients, params)),
      inputs(make_step_inputs(config, params, grid, warnings)) {}

std::unique_ptr<ResolvedRun> resolve(RunConfig config) {
  refuse_unknown_fields(config);
  return std::make_unique<ResolvedRun>(std::move(config));
}

std::uint64_t fingerprint(const StepInputs& inputs) {
  Fingerprint print;
  for (std::size_t i = 0; i < inputs.specs.size(); ++i) {
    const ParamShardSpec& spec = inputs.specs[i];
    print.add(inputs.params.params[i].name).add(spec.full_shape.rows).add(spec.full_shape.cols);
    print.add(spec.domain.gtp_remat).add(spec.domain.tp).add(spec.tp_dim.value_or(-1));
    print.add(spec.gtp_sharded ? 1 : 0).add(spec.pad_length);
    print.add(inputs.residences[i].stage).add(inputs.residences[i].ep);
    print.add(inputs.params.params[i].has_gradient() ? 1 : 0);
    print.add(static_cast<std::int64_t>(inputs.splits[i].pieces().size()));
    for (const std::int64_t rows : inputs.splits[i].pieces()) print.add(rows);
  }
  for (const Homes* homes : {&inputs.homes, &inputs.layer_wise.homes})
    for (const auto& home : *homes)
      print.add(home ? home->g.value() : -1).add(home && home->t ? home->t->value() : -1);
  for (const auto& owner : inputs.layer_wise.owners) print.add(owner.value_or(-1));
  print.add(static_cast<int>(inputs.moment_dtype));
  print.add(static_cast<int>(inputs.travel.exchange)).add(static_cast<int>(inputs.travel.return_dtype));
  print.add(inputs.ns_batch_size).add(static_cast<int>(inputs.param_dtype));
  for (const int queue : inputs.queues.of_group) print.add(queue);
  for (const auto* waves : {&inputs.travel.wave_of, &inputs.layer_wise.wave_of})
    for (const int wave : *waves) print.add(wave);
  for (const NsCoefficients& step : inputs.ns.steps)
    print.add(std::bit_cast<std::uint64_t>(step.a))
        .add(std::bit_cast<std::uint64_t>(step.b))
        .add(std::bit_cast<std::uint64_t>(step.c));
  return print.value();
}

}  // namespace muonbench
