// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/resolve.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/bench/countable.h"
#include "src/bench/resolve_homes.h"
#include "src/bench/thresholds.h"
#include "src/config/words.h"
#include "src/model/build_params.h"
#include "src/ns/coefficients.h"
#include "src/ns/ns_slice.h"
#include "src/ns/schedule.h"
#include "src/plan/owners.h"

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

/// Matrices of whose Gram matrices syrk and gram save nothing are told, not passed over in silence.
void warn_of_whole_products(const StepInputs& inputs, std::vector<std::string>& warnings) {
  std::int64_t matrices = 0, whole = 0;
  std::string first;
  for (std::size_t i = 0; i < inputs.splits.size(); ++i) {
    const Parameter& param = inputs.params.params[i];
    if (param.optimizer != OptimizerKind::kMuon || !param.has_gradient()) continue;
    for (const Shape& matrix : inputs.splits[i].matrices(param.shape)) {
      ++matrices;
      if (!multiplied_whole(whole_slice(matrix), inputs.ns)) continue;
      if (whole++ == 0) first = text("{}, {} x {}", param.name, matrix.rows, matrix.cols);
    }
  }
  if (whole > 0)
    warnings.push_back(
        text("muon.ns_algorithm {}: {} of {} matrices have rows of no multiple of {} numbers, and their Gram "
             "matrices are computed whole (the first: {}); ns_whole of each mode counts what it computes so",
             name_in(kNsAlgorithmNames, inputs.ns.algorithm), whole, matrices, kSymmetricSides, first));
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
                               std::string(name_in(kBackendNames, config.run.backend)), config.muon.exchange,
                               config.muon.split_oversized ? GramSums::kOverAxes : GramSums::kNone);
  inputs.split_oversized = config.muon.split_oversized;
  inputs.moment_dtype = config.adam.moment_dtype;
  if (config.runs("layer_wise"))
    inputs.layer_wise.owners = assign_owners({params, grid, inputs.specs, inputs.residences, inputs.splits},
                                             config.layer_wise.policy, config.layer_wise.adam);
  assign_homes(config.muon, inputs, warnings);
  warn_of_whole_products(inputs, warnings);
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
  for (const auto* homes : {&inputs.homes, &inputs.layer_wise.homes})
    for (const auto& home : *homes)
      print.add(home ? home->g.value() : -1)
          .add(home && home->t ? home->t->value() : -1)
          .add(home ? static_cast<int>(home->spread) : -1);
  for (const auto& owner : inputs.layer_wise.owners) print.add(owner.value_or(-1));
  print.add(static_cast<int>(inputs.moment_dtype));
  print.add(static_cast<int>(inputs.travel.exchange)).add(static_cast<int>(inputs.travel.return_dtype));
  print.add(inputs.ns_batch_size).add(static_cast<int>(inputs.param_dtype));
  for (const int queue : inputs.queues.of_group) print.add(queue);
  for (const auto* waves : {&inputs.travel.wave_of, &inputs.layer_wise.wave_of})
    for (const int wave : *waves) print.add(wave);
  print.add(static_cast<int>(inputs.ns.algorithm)).add(static_cast<int>(inputs.ns.precision));
  for (const NsCoefficients& step : inputs.ns.steps)
    print.add(std::bit_cast<std::uint64_t>(step.a))
        .add(std::bit_cast<std::uint64_t>(step.b))
        .add(std::bit_cast<std::uint64_t>(step.c));
  return print.value();
}

}  // namespace muonbench
