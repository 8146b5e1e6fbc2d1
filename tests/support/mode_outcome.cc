// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/mode_outcome.h"

#include <bit>
#include <limits>

#include "tests/support/tested_backend.h"

#include "src/bench/verify.h"
#include "src/bench/wire.h"

namespace muonbench {
namespace {

std::string_view word_of(GradientFill fill) {
  switch (fill) {
    case GradientFill::kRandom: return "random";
    case GradientFill::kOnes: return "ones";
    case GradientFill::kZeros: return "zeros";
    case GradientFill::kNone: return "none";
  }
  return "";
}

ParamConfig entry_of(const Parameter& param) {
  ParamConfig entry;
  entry.name = param.name;
  entry.shape = {param.shape.rows};
  if (param.dims == 2) entry.shape.push_back(param.shape.cols);
  entry.optimizer = param.optimizer == OptimizerKind::kMuon ? "muon" : "adam";
  entry.tp_dim = param.tp_dim;
  entry.gtp_remat = param.gtp_remat;
  entry.expert = param.expert;
  entry.expert_set = param.expert_set;
  entry.stage = param.stage;
  entry.gradient = word_of(param.gradient);
  entry.gradient_scale = param.gradient_scale;
  entry.qkv_split = param.qkv_split;
  return entry;
}

struct PieceHead {
  int param;
  Range rows, cols;
};

/// Everything that one rank has to say, as bytes.
std::string pack_run(const ModeRun& run) {
  std::vector<std::string> texts = {pack(run.checks),
                                    pack(std::vector{run.costs.memory.adam_bytes, run.costs.counts.ns_calls,
                                                     run.costs.memory.state_bytes})};
  for (const MasterRows& piece : run.masters)
    texts.push_back(pack(std::vector{PieceHead{piece.param.value(), piece.rows, piece.cols}}) +
                    pack(piece.values));
  return pack_strings(texts);
}

void place_piece(const std::string& bytes, const ParamSet& params, std::vector<std::vector<float>>& masters) {
  const PieceHead head = unpack<PieceHead>(bytes.substr(0, sizeof(PieceHead))).front();
  const std::vector<float> values = unpack<float>(bytes.substr(sizeof(PieceHead)));
  const std::int64_t full_cols = params[ParamIndex(head.param)].shape.cols;
  std::vector<float>& matrix = masters[static_cast<std::size_t>(head.param)];
  for (std::int64_t r = 0; r < head.rows.count; ++r)
    for (std::int64_t c = 0; c < head.cols.count; ++c)
      matrix.at(static_cast<std::size_t>((head.rows.begin + r) * full_cols + head.cols.begin + c)) =
          values.at(static_cast<std::size_t>(r * head.cols.count + c));
}

Outcome merge(const std::vector<std::string>& by_rank, const ParamSet& params) {
  Outcome outcome;
  for (const Parameter& param : params.params)
    outcome.masters.emplace_back(static_cast<std::size_t>(param.shape.elements().value()),
                                 std::numeric_limits<float>::quiet_NaN());
  std::vector<std::vector<RowCheck>> checks;
  for (const std::string& bytes : by_rank) {
    const std::vector<std::string> texts = unpack_strings(bytes);
    checks.push_back(unpack<RowCheck>(texts.at(0)));
    const auto sums = unpack<std::int64_t>(texts.at(1));
    outcome.adam_bytes += sums.at(0);
    outcome.ns_calls += sums.at(1);
    outcome.state_bytes += sums.at(2);
    for (std::size_t i = 2; i < texts.size(); ++i) place_piece(texts[i], params, outcome.masters);
  }
  const ModelCheck model = merge_checks(checks, params);
  for (const ParamCheck& param : model.params) outcome.digests.push_back(param.digest);
  outcome.faults = model.faults;
  outcome.nonfinite = model.nonfinite();
  return outcome;
}

}  // namespace

RunConfig run_config(const std::vector<Parameter>& params, DomainShape domain) {
  RunConfig config;
  config.model.params.emplace();
  for (const Parameter& param : params) config.model.params->push_back(entry_of(param));
  config.parallelism.tp = domain.tp;
  config.parallelism.gtp_remat = domain.gtp_remat;
  config.run.warmup_steps = 0;
  config.run.steps = 5;
  config.modes.clear();
  for (const Mode& mode : modes()) config.modes.emplace_back(mode.name);
  config.run.backend = value_in(kBackendNames, TestedBackend().backend).value();
  return config;
}

RunConfig on_one_rank(RunConfig config) {
  const std::int64_t pad_for_alignment = config.parallelism.pad_for_alignment;
  config.parallelism = {};
  config.parallelism.pad_for_alignment = pad_for_alignment;
  for (ParamConfig& entry : *config.model.params) entry.stage = 0;
  config.muon.home_policy = HomePolicy::kLptNsCost;
  config.muon.homes.clear();
  return config;
}

Outcome run_on_all_ranks(std::string_view mode, const ResolvedRun& run, const ValueSource& values,
                         RankContext& context) {
  const ModeRun mine = run_mode(mode_named(mode), run.inputs, run.config.run, values, context);
  // Every rank needs all: rank 0 hands on what it gathered.
  const std::string all = context.control.broadcast(pack_strings(context.control.gather(pack_run(mine))));
  return merge(unpack_strings(all), run.params);
}

Outcome run_on_all_ranks(std::string_view mode, const ResolvedRun& run, RankContext& context) {
  return run_on_all_ranks(mode, run, GeneratedValues(run.params, run.config.gradients.seed, run.injections),
                          context);
}

Outcome run_alone(std::string_view mode, const ResolvedRun& run, const ValueSource& values,
                  RankContext& context) {
  CommSet no_comms(run.grid, WorldRank(0),
                   [](const std::vector<WorldRank>&) { return std::unique_ptr<Comm>(); });
  RankContext alone{WorldRank(0), context.device, no_comms, context.control};
  return merge({pack_run(run_mode(mode_named(mode), run.inputs, run.config.run, values, alone))}, run.params);
}

Outcome run_alone(std::string_view mode, const RunConfig& config, RankContext& context) {
  const auto run = resolve(on_one_rank(config));
  return run_alone(mode, *run, GeneratedValues(run->params, run->config.gradients.seed, run->injections),
                   context);
}

std::vector<std::string> unequal(const Outcome& a, const Outcome& b, const ParamSet& params) {
  std::vector<std::string> names;
  for (std::size_t p = 0; p < params.params.size(); ++p) {
    bool equal = a.digests.at(p) == b.digests.at(p) && a.masters.at(p).size() == b.masters.at(p).size();
    for (std::size_t i = 0; equal && i < a.masters[p].size(); ++i)
      equal = std::bit_cast<std::uint32_t>(a.masters[p][i]) == std::bit_cast<std::uint32_t>(b.masters[p][i]);
    if (!equal) names.push_back(params.params[p].name);
  }
  return names;
}

}  // namespace muonbench
