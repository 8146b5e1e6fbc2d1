// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/collect.h"

#include <algorithm>
#include <numeric>

#include "src/bench/stats.h"
#include "src/bench/wire.h"
#include "src/ns/schedule.h"
#include "src/plan/distribution.h"

namespace muonbench {
namespace {

/// One rank's row as it travels to rank 0.
struct RankRow {
  RankCosts costs;
  double step_p50 = 0.0;
};

RankRow row_of(const ModeRun& run) {
  std::vector<double> seconds;
  seconds.reserve(run.steps.size());
  for (const StepTimes& times : run.steps) seconds.push_back(times.seconds);
  RankRow row{run.costs, median(seconds).value_or(0.0)};
  row.costs.memory.process_peak_bytes = run.process_peak_bytes;
  return row;
}

RankInfo rank_info(const RankCosts& costs, const RankGrid& grid, WorldRank rank) {
  const DomainPlace place = grid.coordinates(Family::kDense, rank).place;
  RankInfo info;
  info.rank = rank.value();
  info.g = place.g.value();
  info.t = place.t.value();
  info.memory = costs.memory;
  info.ns_calls = costs.counts.ns_calls;
  info.ns_flops = costs.counts.ns_flops;
  info.collectives = costs.counts.collectives;
  info.sent_bytes = costs.counts.sent.value();
  info.received_bytes = costs.counts.received.value();
  return info;
}

std::optional<double> imbalance(const std::vector<RankCosts>& costs, double (*of)(const RankCosts&)) {
  std::vector<double> values;
  values.reserve(costs.size());
  for (const RankCosts& one : costs) values.push_back(of(one));
  return max_over_mean(values);
}

ConcurrentGroupsInfo concurrent_groups(const Mode& mode, const GroupQueues& queues) {
  switch (mode.pipelines) {
    case Pipelines::kPerGroup: return {queues.concurrent(), queues.count, queues.why};
    case Pipelines::kOneForAll: break;
  }
  return {false, 1, "the mode has one pipeline for all parameters"};
}

/// None for a weight that is spread over its domain.
std::optional<HomeInfo> home_info(const Parameter& param, const std::optional<Home>& home) {
  if (!home || !home->is_routed()) return std::nullopt;
  return HomeInfo{param.name, home->g.value(), home->t ? std::optional(home->t->value()) : std::nullopt};
}

std::vector<HomeInfo> home_infos(const ParamSet& params, const std::vector<std::optional<Home>>& homes) {
  std::vector<HomeInfo> infos;
  for (std::size_t i = 0; i < homes.size(); ++i)
    if (const auto info = home_info(params.params[i], homes[i])) infos.push_back(*info);
  return infos;
}

/// Owners, and homes where they are not those of layer_sharded.
void add_owners(const StepInputs& inputs, ModeInfo& info) {
  const OwnedParams& owned = inputs.layer_wise;
  for (std::size_t i = 0; i < owned.owners.size(); ++i)
    if (const auto& owner = owned.owners[i]) info.owners.push_back({inputs.params.params[i].name, *owner});
  if (owned.homes != inputs.homes) info.homes = home_infos(inputs.params, owned.homes);
}

DecisionInfo decision(const Parameter& param, std::string_view runs, const ParamShardSpec& spec,
                      const std::optional<Distribution>& distribution) {
  DecisionInfo info{param.name, std::string(runs), std::nullopt, std::nullopt};
  if (!distribution) return info;
  info.over = name_of(GroupKey{family_of(param), AxisSet{distribution->axis}});
  info.ranks = ranks_of(distribution->axis, spec.domain);
  return info;
}

/// Of mode auto.
DecisionInfo cheaper(const Parameter& param, const StepInputs& inputs, ParamIndex p) {
  const ParamShardSpec& spec = inputs.specs[p.at()];
  const RunsAs runs_as = cheaper_way(spec, inputs.splits[p.at()], family_of(param), inputs.ns);
  return decision(param, name_of(runs_as), spec,
                  runs_as == RunsAs::kDistributed ? distribution_of(spec) : std::nullopt);
}

/// Of muon.split_oversized.
DecisionInfo spread(const Parameter& param, const ParamShardSpec& spec, const std::optional<Home>& home) {
  const auto distribution = home ? distribution_as(home->spread, spec) : std::nullopt;
  return decision(param, distribution ? name_of(RunsAs::kDistributed) : "whole", spec, distribution);
}

/// In model order; null where nothing is decided weight by weight.
std::optional<std::vector<DecisionInfo>> decisions(const Mode& mode, const StepInputs& inputs) {
  const std::vector<std::optional<Home>>* homes = inputs.split_oversized ? homes_in(mode, inputs) : nullptr;
  if (mode.weights != WeightsRun::kAsDecided && homes == nullptr) return std::nullopt;
  std::vector<DecisionInfo> found;
  for (int i = 0; i < inputs.params.size(); ++i) {
    const ParamIndex p(i);
    const Parameter& param = inputs.params[p];
    if (param.optimizer != OptimizerKind::kMuon || !param.has_gradient()) continue;
    found.push_back(homes != nullptr ? spread(param, inputs.specs[p.at()], (*homes)[p.at()])
                                     : cheaper(param, inputs, p));
  }
  return found;
}

enum class Verified { kYes, kNo };

std::vector<ParamInfo> param_infos(const ModelCheck& check, const StepInputs& inputs, const Mode& mode,
                                   Verified verified) {
  const std::vector<std::optional<Home>>* homes = homes_in(mode, inputs);
  std::vector<ParamInfo> infos;
  for (std::size_t i = 0; i < inputs.specs.size(); ++i) {
    const Parameter& param = inputs.params.params[i];
    ParamInfo info;
    info.name = param.name;
    info.shape =
        param.dims == 1 ? std::vector{param.shape.rows} : std::vector{param.shape.rows, param.shape.cols};
    info.sharding = name_of(inputs.specs[i].sharding());
    if (homes != nullptr) info.home = home_info(param, (*homes)[i]);
    if (verified == Verified::kYes) {
      info.delta_abs_min = check.params[i].delta_abs_min;
      info.delta_abs_max = check.params[i].delta_abs_max;
      info.digest = text("{:016x}", check.params[i].digest);
    }
    infos.push_back(info);
  }
  return infos;
}

/// Slowest rank per step and phase, then the median over steps.
std::map<std::string, double> phase_seconds(const ModeRun& run, ControlPlane& control) {
  std::vector<double> flat;
  for (const StepTimes& times : run.steps) flat.insert(flat.end(), times.phases.begin(), times.phases.end());
  const std::vector<double> slowest = control.max(flat);
  std::map<std::string, double> seconds;
  for (int phase = 0; phase < kPhaseCount; ++phase) {
    std::vector<double> samples;
    for (std::size_t at = static_cast<std::size_t>(phase); at < slowest.size(); at += kPhaseCount)
      samples.push_back(slowest[at]);
    const double p50 = median(samples).value_or(0.0);
    if (p50 > 0.0) seconds[std::string(name_of(static_cast<Phase>(phase)))] = p50;
  }
  return seconds;
}

/// Seconds of the exchange phases together, 0 if none was timed.
double exchange_seconds(const ModeInfo& info) {
  double sum = 0.0;
  for (int phase = 0; phase < kPhaseCount; ++phase) {
    if (!is_exchange(static_cast<Phase>(phase))) continue;
    const auto timed = info.phases_seconds.find(std::string(name_of(static_cast<Phase>(phase))));
    if (timed != info.phases_seconds.end()) sum += timed->second;
  }
  return sum;
}

/// `overlapped`: the slowest rank's steps that were not drained.
std::optional<OverlapInfo> overlap(const ModeInfo& info, const std::vector<double>& overlapped) {
  if (overlapped.empty() || !info.step_seconds) return std::nullopt;
  OverlapInfo found{info.step_seconds->p50, median(overlapped).value_or(0.0), std::nullopt};
  const auto ns = info.phases_seconds.find(std::string(name_of(Phase::kNs)));
  const double least = std::min(exchange_seconds(info), ns == info.phases_seconds.end() ? 0.0 : ns->second);
  if (least > 0.0) found.efficiency = (found.serial_seconds - found.overlapped_seconds) / least;
  return found;
}

ThroughputInfo throughput(const ModeInfo& info, const std::vector<RankCosts>& costs,
                          std::int64_t parameters) {
  ThroughputInfo rates;
  const double step = info.step_seconds ? info.step_seconds->p50 : 0.0;
  if (step <= 0.0) return rates;
  double flops = 0.0, buffer = 0.0, wire = 0.0;
  for (const RankCosts& one : costs) {
    flops += static_cast<double>(one.counts.ns_flops);
    buffer = std::max(buffer, static_cast<double>(one.counts.exchange_buffer.value()));
    wire = std::max(wire, static_cast<double>(one.counts.exchange_wire.value()));
  }
  if (flops > 0.0) rates.ns_tflops = flops / step / 1e12;
  rates.parameters_per_second = static_cast<double>(parameters) / step;
  const double exchange = exchange_seconds(info);
  if (exchange > 0.0 && wire > 0.0) {
    rates.exchange_algbw_gbs = buffer / exchange / 1e9;
    rates.exchange_busbw_gbs = wire / exchange / 1e9;
  }
  return rates;
}

}  // namespace

ModeInfo planned_mode_info(const Mode& mode, const StepInputs& inputs, const std::vector<RankCosts>& costs) {
  ModeInfo info;
  info.mode = mode.name;
  info.concurrent_groups = concurrent_groups(mode, inputs.queues);
  if (mode.muon == MuonUse::kMuon) info.ns_algorithm = name_in(kNsAlgorithmNames, inputs.ns.algorithm);
  if (mode.costs == CostsDependOn::kShardsAndOwners) add_owners(inputs, info);
  info.decisions = decisions(mode, inputs);
  for (std::size_t r = 0; r < costs.size(); ++r)
    info.ranks.push_back(rank_info(costs[r], inputs.grid, WorldRank(static_cast<int>(r))));
  if (mode.muon == MuonUse::kMuon) {
    info.ns_cost_max_over_mean =
        imbalance(costs, [](const RankCosts& one) { return static_cast<double>(one.counts.ns_cost); });
    info.ns_algorithms = calls_by_algorithm(costs);
    info.ns_whole =
        std::accumulate(costs.begin(), costs.end(), std::int64_t{0},
                        [](std::int64_t sum, const RankCosts& one) { return sum + one.counts.ns_whole; });
  }
  info.state_max_over_mean =
      imbalance(costs, [](const RankCosts& one) { return static_cast<double>(one.memory.state_bytes); });
  return info;
}

CollectedMode collect_mode(const Mode& mode, const ResolvedRun& run, const ModeRun& mode_run,
                           const std::vector<std::string>& hosts, ControlPlane& control) {
  std::vector<double> seconds;
  seconds.reserve(mode_run.steps.size() + 1);
  if (mode_run.first_step_seconds) seconds.push_back(*mode_run.first_step_seconds);
  for (const StepTimes& times : mode_run.steps) seconds.push_back(times.seconds);
  std::vector<double> slowest = control.max(seconds);
  const std::map<std::string, double> phases = run.config.run.timing == Timing::kPhases
                                                   ? phase_seconds(mode_run, control)
                                                   : std::map<std::string, double>();
  const std::vector<double> overlapped = control.max(mode_run.overlapped);
  const std::vector<std::string> rows = control.gather(pack(std::vector{row_of(mode_run)}));
  const std::vector<std::string> row_checks = control.gather(pack(mode_run.checks));
  if (control.rank() != 0) return {};

  std::vector<RankCosts> costs;
  costs.reserve(rows.size());
  for (const std::string& bytes : rows) costs.push_back(unpack<RankRow>(bytes).front().costs);
  std::vector<std::vector<RowCheck>> checks;
  checks.reserve(row_checks.size());
  for (const std::string& bytes : row_checks) checks.push_back(unpack<RowCheck>(bytes));

  CollectedMode collected{planned_mode_info(mode, run.inputs, costs), merge_checks(checks, run.params)};
  ModeInfo& info = collected.info;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    info.ranks[r].host = hosts[r];
    info.ranks[r].step_seconds_p50 = unpack<RankRow>(rows[r]).front().step_p50;
  }
  if (mode_run.first_step_seconds) {
    info.first_step_seconds = slowest.front();
    slowest.erase(slowest.begin());
  }
  info.step_seconds = summarise(slowest);
  info.phases_seconds = phases;
  info.overlap = overlap(info, overlapped);
  info.throughput = throughput(info, costs, run.params.elements().value());
  const bool checked = run.config.run.verify && mode_run.ending == Ending::kAllSteps;
  const Verified verified = checked ? Verified::kYes : Verified::kNo;
  if (verified == Verified::kYes) info.nonfinite_values = collected.check.nonfinite();
  info.params = param_infos(collected.check, run.inputs, mode, verified);
  return collected;
}

ModelInfo model_info(const StepInputs& inputs) {
  ModelInfo info;
  info.parameters = inputs.params.elements().value();
  info.muon_parameters = inputs.params.elements(OptimizerKind::kMuon).value();
  info.adam_parameters = inputs.params.elements(OptimizerKind::kAdam).value();
  for (const ParamGroup& group : inputs.groups) {
    for (const ParamIndex p : group.params) {
      for (const Shape& matrix : inputs.splits[p.at()].matrices(inputs.params[p].shape)) {
        info.muon_matrices += 1;
        info.ns_flops += ns_flops(matrix, inputs.ns);
      }
    }
  }
  return info;
}

std::vector<HomeInfo> home_infos(const StepInputs& inputs) { return home_infos(inputs.params, inputs.homes); }

void add_speedups(std::vector<ModeInfo>& modes) {
  const auto reference =
      std::find_if(modes.begin(), modes.end(), [](const ModeInfo& m) { return m.mode == "duplicated"; });
  if (reference == modes.end() || !reference->step_seconds) return;
  for (ModeInfo& mode : modes) {
    if (mode.step_seconds && mode.step_seconds->p50 > 0.0)
      mode.speedup_vs_duplicated = reference->step_seconds->p50 / mode.step_seconds->p50;
  }
}

}  // namespace muonbench
