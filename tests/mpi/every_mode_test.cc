// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// The whole table: every mode, on every kind of shard, in every layout of the job over gtp_remat, tp and dp,
// with every way to travel, oversized weights whole or split; against one rank bit for bit where bits are
// promised, against fp64 where not, and against an update that is known without running anything.
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "tests/mpi/mpi_world.h"
#include "tests/support/fp64_trajectory.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/program/modes.h"

namespace muonbench {
namespace {

const std::vector<std::string> kNone;

/// What five steps of quintic make of the singular value 1.
constexpr double kMapOfOne = 0.978346;

/// Of rank 1: its update is known.
Parameter constant() {
  Parameter param = muon("constant", {48, 24}, 0);
  param.gradient = GradientFill::kOnes;
  return param;
}

/// All kinds of shard, pads within shards and whole shards of pads, a fused weight, and Adam's.
RunConfig job(MatmulPrecision precision) {
  RunConfig config = run_config(
      {muon("rows_cut_twice", {72, 20}, 0), muon("cols_cut", {31, 48}, 1), untagged(muon("whole", {20, 12})),
       muon("rows_cut", {62, 12}), muon("rows_cut_tall", {200, 12}), muon("one_row", {1, 9}), constant(),
       muon("rows_cut_twice_tall", {288, 24}, 0), fused(muon("fused", {72, 24}, 0), {5, 2, 2}),
       adam("table", {50, 6}), adam("table_cut", {48, 5}, 0), adam_vector("bias", 21)},
      {1, 1});
  config.muon.fp32_matmul_prec = precision;
  config.muon.split_qkv = true;
  config.muon.weight_decay = 0.0;
  config.muon.lr = 0.02;
  config.run.steps = 2;
  return config;
}

bool travels(const Mode& mode) {
  return mode.costs == CostsDependOn::kShardsAndHomes || mode.costs == CostsDependOn::kShardsAndOwners;
}

/// Weights whose NS is spread over several ranks, and how.
std::map<std::string, NsSpread> spread_in(const Mode& mode, const ResolvedRun& run) {
  std::map<std::string, NsSpread> found;
  const auto* homes = homes_in(mode, run.inputs);
  for (std::size_t p = 0; homes != nullptr && p < homes->size(); ++p)
    if (const auto& home = (*homes)[p]; home && home->spread != NsSpread::kNone)
      found.emplace(run.params.params[p].name, home->spread);
  return found;
}

/// Every way to travel, and to split what is oversized, where anything travels.
std::vector<MuonConfig> ways_of(const Mode& mode, const MuonConfig& muon) {
  if (!travels(mode)) return {muon};
  std::vector<MuonConfig> ways = ways_to_travel(muon);
  for (const MuonConfig& way : ways_to_split(muon)) ways.push_back(way);
  return ways;
}

/// One rank's weights, which every layout is compared with.
struct References {
  Outcome muon, adam;
  std::set<std::string> of_adam;  ///< names of the parameters that Adam updates in a Muon mode
};

class EveryMode : public testing::Test {
 protected:
  References references(const RunConfig& config) {
    References found{alone(world_, "duplicated", config), alone(world_, "adam_replicated", config), {}};
    const auto run = resolve(on_one_rank(config));
    for (const Parameter& param : run->params.params)
      if (param.optimizer == OptimizerKind::kAdam) found.of_adam.insert(param.name);
    expect_full_matrices(found.muon, *run);
    return found;
  }

  /// Muon's against fp64, and the update that is known.
  static void expect_full_matrices(const Outcome& outcome, const ResolvedRun& run) {
    for (std::size_t p = 0; p < run.params.params.size(); ++p) {
      const Parameter& param = run.params.params[p];
      if (param.optimizer != OptimizerKind::kMuon) continue;
      EXPECT_LE(miss_over_bound(outcome.masters[p], trajectory(run, param, pieces(param, {whole(param)})),
                                run, param),
                1.0)
          << param.name;
      if (param.gradient == GradientFill::kOnes) expect_known_update(outcome.masters[p], run, param);
    }
  }

  /// Each step moves every element by lr f(1) / sqrt(shorter side). Tolerances as in closed_forms_test: of
  /// the table's six digits; of 8 significant bits, some of whose roundings add up over five steps.
  static void expect_known_update(const std::vector<float>& master, const ResolvedRun& run,
                                  const Parameter& param) {
    const bool medium = run.config.muon.fp32_matmul_prec == MatmulPrecision::kMedium;
    const double expected = run.config.run.steps * run.config.muon.lr * kMapOfOne /
                            std::sqrt(static_cast<double>(param.shape.min_dim()));
    for (std::size_t i = 0; i < master.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const double before =
          weight_value(run.config.gradients.seed, param, at / param.shape.cols, at % param.shape.cols);
      ASSERT_NEAR(before - double{master[i]}, expected, expected * (medium ? 6e-2 : 1e-3));
    }
  }

  static void expect_right(const Mode& mode, const Outcome& outcome, const ResolvedRun& run,
                           const References& references) {
    EXPECT_EQ(outcome.faults, kNone);
    EXPECT_EQ(outcome.nonfinite, 0);
    if (mode.muon == MuonUse::kAdamOnly) {
      EXPECT_EQ(unequal(outcome, references.adam, run.params), kNone);
      return;
    }
    std::vector<std::string> differ = unequal(outcome, references.muon, run.params);
    if (mode.bits == BitPromise::kAsDuplicated) {
      const std::map<std::string, NsSpread> spread = spread_in(mode, run);
      std::erase_if(differ, [&](const std::string& name) { return spread.contains(name); });
      EXPECT_EQ(differ, kNone);
      if (!spread.empty()) expect_full_matrices(outcome, run);
      return;
    }
    for (const std::string& name : differ) EXPECT_FALSE(references.of_adam.contains(name)) << name;
    if (mode.name == "blockwise")
      expect_own_shards(outcome, run);
    else
      expect_full_matrices(outcome, run);
  }

  static void expect_own_shards(const Outcome& outcome, const ResolvedRun& run) {
    const ParallelismConfig& layout = run.config.parallelism;
    for (std::size_t p = 0; p < run.params.params.size(); ++p) {
      const Parameter& param = run.params.params[p];
      if (param.optimizer != OptimizerKind::kMuon) continue;
      const auto blocks = shards(param, {layout.gtp_remat, layout.tp}, layout.pad_for_alignment);
      EXPECT_LE(
          miss_over_bound(outcome.masters[p], trajectory(run, param, pieces(param, blocks)), run, param), 1.0)
          << param.name;
    }
  }

  void walk(RunConfig config) {
    const References reference = references(config);
    std::set<NsSpread> seen;
    for (const ParallelismConfig& layout : layouts_of(world_.runtime.size())) {
      config.parallelism = layout;
      const auto in_layout = resolve(config);
      MpiDomain here(world_, in_layout->grid);
      for (const Mode& mode : modes()) {
        for (const MuonConfig& way : ways_of(mode, config.muon)) {
          SCOPED_TRACE(std::string(mode.name) + ", " + describe(layout) + ", " + describe(way));
          RunConfig with_way = config;
          with_way.muon = way;
          const auto run = resolve(with_way);
          expect_right(mode, run_on_all_ranks(mode.name, *run, here.context()), *run, reference);
          for (const auto& [name, spread] : spread_in(mode, *run)) seen.insert(spread);
        }
      }
    }
    // No weight is more than the half that is the share of one of two.
    EXPECT_EQ(seen.contains(NsSpread::kDomain), world_.runtime.size() > 2);
    EXPECT_EQ(seen.contains(NsSpread::kColumn), world_.runtime.size() > 2);
  }

  MpiWorld world_;
};

TEST_F(EveryMode, IsRightInEveryLayoutWithEveryWayToTravelInFp32) { walk(job(MatmulPrecision::kHighest)); }

TEST_F(EveryMode, IsRightInEveryLayoutWithEveryWayToTravelInBf16) { walk(job(MatmulPrecision::kMedium)); }

}  // namespace
}  // namespace muonbench
