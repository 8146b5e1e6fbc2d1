// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Bits, not tolerances: whatever the layout, a mode that promises bits makes the weights that one rank alone
// makes.
#include <algorithm>
#include <string>

#include "tests/mpi/mpi_world.h"
#include "tests/support/mode_outcome.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

const std::vector<std::string> kNone;

std::string describe(DomainShape domain, const RunConfig& config) {
  return std::to_string(domain.gtp_remat) + " x " + std::to_string(domain.tp) + ", pad_for_alignment " +
         std::to_string(config.parallelism.pad_for_alignment) + ", nesterov " +
         std::to_string(config.muon.nesterov) + ", precision " +
         std::string(name_in(kMatmulPrecisionNames, config.muon.fp32_matmul_prec)) + ", homes " +
         std::string(name_in(kHomePolicyNames, config.muon.home_policy));
}

void expect_sound(const Outcome& outcome) {
  EXPECT_EQ(outcome.faults, kNone);
  EXPECT_EQ(outcome.nonfinite, 0);
}

class Parity : public testing::Test {
 protected:
  /// The configuration on every domain of the job, each with communicators of its own.
  template <class Check>
  void on_every_domain(RunConfig config, Check check) {
    muonbench::on_every_domain(world_, std::move(config),
                               [&](const ResolvedRun& run, DomainShape domain, RankContext& context) {
                                 SCOPED_TRACE(describe(domain, run.config));
                                 check(run, context);
                               });
  }
  /// Both Muon modes against one rank.
  void expect_muon_parity(const RunConfig& config) {
    const Outcome reference = alone(world_, "duplicated", config);
    expect_sound(reference);
    on_every_domain(config, [&](const ResolvedRun& run, RankContext& context) {
      for (const char* mode : {"layer_sharded", "duplicated"}) {
        const Outcome outcome = run_on_all_ranks(mode, run, context);
        expect_sound(outcome);
        EXPECT_EQ(unequal(outcome, reference, run.params), kNone) << mode;
      }
    });
  }
  MpiWorld world_;
};

RunConfig mixed(std::int64_t pad_for_alignment) {
  RunConfig config = run_config(mixed_params(), {1, 1});
  config.parallelism.pad_for_alignment = pad_for_alignment;
  return config;
}

TEST_F(Parity, LayerShardedAndDuplicatedEqualOneRankBitForBit) {
  for (const bool nesterov : {true, false}) {
    for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
      RunConfig config = mixed(16);
      config.muon.nesterov = nesterov;
      config.muon.fp32_matmul_prec = precision;
      expect_muon_parity(config);
    }
  }
}

TEST_F(Parity, HoldsInTf32) {
  if (!world_.device->capabilities().tf32) GTEST_SKIP() << "no TF32";
  RunConfig config = mixed(16);
  config.muon.fp32_matmul_prec = MatmulPrecision::kHigh;
  expect_muon_parity(config);
}

TEST_F(Parity, HoldsForFusedWeightsTakenApartWhateverTheLayout) {
  for (const std::int64_t pad : {1, 16}) {
    for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
      RunConfig config = run_config(fused_params(), {1, 1});
      config.parallelism.pad_for_alignment = pad;
      config.muon.fp32_matmul_prec = precision;
      config.muon.split_qkv = true;
      expect_muon_parity(config);
    }
  }
}

TEST_F(Parity, HoldsWithoutPadsBeyondTheLastShard) { expect_muon_parity(mixed(1)); }

TEST_F(Parity, HoldsWithoutAlignment) {
  RunConfig config = run_config(
      {muon("a", {48, 20}, 0), muon("b", {24, 48}, 1), muon("c", {48, 6}), adam("e", {48, 5}, 0)}, {1, 1});
  config.parallelism.pad_for_alignment = 0;
  expect_muon_parity(config);
}

TEST_F(Parity, HoldsForWeightsInFp32) {
  RunConfig config = mixed(16);
  config.run.param_dtype = DType::kFp32;
  expect_muon_parity(config);
}

TEST_F(Parity, HoldsForEveryWeightDecayMethod) {
  for (const auto& [method, name] : kWeightDecayMethodNames) {
    SCOPED_TRACE(std::string(name));
    RunConfig config = mixed(16);
    config.muon.weight_decay_method = method;
    config.muon.weight_decay = 0.25;
    config.muon.lr = 0.125;
    expect_muon_parity(config);
  }
}

TEST_F(Parity, WeightDecayMethodsDifferFromOneAnother) {
  std::vector<Outcome> outcomes;
  RunConfig config = mixed(16);
  config.muon.weight_decay = 0.25;
  config.muon.lr = 0.125;
  for (const auto& [method, name] : kWeightDecayMethodNames) {
    config.muon.weight_decay_method = method;
    outcomes.push_back(alone(world_, "duplicated", config));
  }
  const std::size_t weight = 0;
  for (std::size_t a = 0; a < outcomes.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_NE(outcomes[a].digests[weight], outcomes[b].digests[weight]) << a << " " << b;
}

TEST_F(Parity, HoldsForEveryHomePolicy) {
  for (const HomePolicy policy : {HomePolicy::kRoundRobin, HomePolicy::kExplicit}) {
    RunConfig config = mixed(16);
    config.muon.home_policy = policy;
    const Outcome reference = alone(world_, "duplicated", config);
    on_every_domain(config, [&](const ResolvedRun& run, RankContext& context) {
      RunConfig with_homes = run.config;
      const DomainShape domain{run.config.parallelism.gtp_remat, run.config.parallelism.tp};
      if (policy == HomePolicy::kExplicit)  // all on the last rank but one
        for (const char* name : {"rows_cut_twice", "cols_cut", "rows_cut", "one_row", "cols_cut_short"})
          with_homes.muon.homes[name] = {domain.gtp_remat - 1, std::max(domain.tp - 2, 0)};
      const auto run_with_homes = resolve(with_homes);
      const Outcome outcome = run_on_all_ranks("layer_sharded", *run_with_homes, context);
      expect_sound(outcome);
      EXPECT_EQ(unequal(outcome, reference, run.params), kNone);
    });
  }
}

TEST_F(Parity, TwoRunsAreTheSameBits) {
  on_every_domain(mixed(16), [](const ResolvedRun& run, RankContext& context) {
    const Outcome once = run_on_all_ranks("layer_sharded", run, context);
    EXPECT_EQ(unequal(once, run_on_all_ranks("layer_sharded", run, context), run.params), kNone);
  });
}

TEST_F(Parity, AdamByRowsEqualsReplicatedAdamAndOneRankBitForBit) {
  for (const bool decoupled : {true, false}) {
    RunConfig config = mixed(16);
    config.adam.decoupled_weight_decay = decoupled;
    const Outcome reference = alone(world_, "adam_replicated", config);
    on_every_domain(config, [&](const ResolvedRun& run, RankContext& context) {
      for (const char* mode : {"adam_dim0", "adam_replicated"}) {
        const Outcome outcome = run_on_all_ranks(mode, run, context);
        expect_sound(outcome);
        EXPECT_EQ(unequal(outcome, reference, run.params), kNone) << mode;
      }
    });
  }
}

TEST_F(Parity, AdamStateOfAllRanksIsThatOfTheUnshardedModel) {
  // Two fp32 moments per element that has a gradient, whoever keeps them.
  std::int64_t all = 0, of_adam_params = 0;
  for (const Parameter& param : mixed_params()) {
    if (!param.has_gradient()) continue;
    all += 8 * param.shape.elements().value();
    if (param.optimizer == OptimizerKind::kAdam) of_adam_params += 8 * param.shape.elements().value();
  }
  on_every_domain(mixed(16), [&](const ResolvedRun& run, RankContext& context) {
    EXPECT_EQ(run_on_all_ranks("adam_dim0", run, context).adam_bytes, all);
    EXPECT_EQ(run_on_all_ranks("layer_sharded", run, context).adam_bytes, of_adam_params);
  });
}

TEST_F(Parity, ReplicasAgreeWhateverTheBatchSize) {
  // Larger batches may round otherwise than single matrices; copies of one weight must still be equal on all
  // ranks, which merge_checks compares. 7e-4: what one ulp of bf16 has been seen to grow to over five NS
  // steps.
  const Outcome single = alone(world_, "duplicated", mixed(16));
  RunConfig config = mixed(16);
  config.muon.ns_batch_size = 4;
  on_every_domain(config, [&](const ResolvedRun& run, RankContext& context) {
    const Outcome outcome = run_on_all_ranks("layer_sharded", run, context);
    expect_sound(outcome);
    for (std::size_t p = 0; p < outcome.masters.size(); ++p)
      for (std::size_t i = 0; i < outcome.masters[p].size(); ++i)
        ASSERT_NEAR(outcome.masters[p][i], single.masters[p][i], 7e-4) << run.params.params[p].name;
  });
}

TEST_F(Parity, AWeightWithoutGradientKeepsItsBitsAndChangesNothingElse) {
  RunConfig config = mixed(16);
  RunConfig without = config;
  std::erase_if(*without.model.params, [](const ParamConfig& entry) { return entry.gradient == "none"; });
  const Outcome reference = alone(world_, "duplicated", without);
  on_every_domain(config, [&](const ResolvedRun& run, RankContext& context) {
    const Outcome outcome = run_on_all_ranks("layer_sharded", run, context);
    std::size_t other = 0;
    for (std::size_t p = 0; p < run.params.params.size(); ++p) {
      const Parameter& param = run.params.params[p];
      if (param.has_gradient()) {
        EXPECT_EQ(outcome.digests[p], reference.digests[other++]) << param.name;
        continue;
      }
      for (std::size_t i = 0; i < outcome.masters[p].size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        ASSERT_EQ(outcome.masters[p][i], weight_value(run.config.gradients.seed, param, at / param.shape.cols,
                                                      at % param.shape.cols));
      }
    }
  });
}

TEST_F(Parity, ARunThatCountsOtherTrafficThanItsProgramFails) {
  if (world_.runtime.size() == 1) GTEST_SKIP() << "one rank has no traffic";
  RunConfig config = run_config({muon("w", {48, 16}, 0)}, {world_.runtime.size(), 1});
  config.parallelism.pad_for_alignment = 1;  // every rank holds rows, so all take part in what is slipped in
  const auto run = resolve(config);
  MpiDomain here(world_, run->grid);
  const CommTable comms = here.context().comms.table();
  struct Extra final : ValueSource {  // a collective that no program has, slipped in between two steps
    Extra(const GeneratedValues& values_, Comm& comm_) : values(values_), comm(comm_) {}
    void weights(ParamIndex p, std::int64_t row, std::int64_t col, std::span<float> out) const override {
      values.weights(p, row, col, out);
    }
    void gradients(ParamIndex p, std::int64_t step, std::int64_t row, std::int64_t col,
                   std::span<float> out) const override {
      values.gradients(p, step, row, col, out);
      if (step != 2 || slipped) return;
      slipped = true;
      const std::vector<BoundSegment> nothing(static_cast<std::size_t>(comm.size()),
                                              BoundSegment{nullptr, 0});
      const auto transfer = comm.prepare(BoundAllToAll{DType::kFp32, nothing, nothing});
      transfer->start(Queue{});
      transfer->wait(Queue{});
    }
    const GeneratedValues& values;
    Comm& comm;
    mutable bool slipped = false;
  };
  const GeneratedValues generated(run->params, 1, {});
  const Extra values(generated, comms(GroupKey{Family::kDense, {AxisSet::kGtpRemat}}));
  try {
    static_cast<void>(
        run_mode(mode_named("layer_sharded"), run->inputs, run->config.run, values, here.context()));
    ADD_FAILURE() << "nobody noticed";
  } catch (const RuntimeFailure& error) {
    EXPECT_NE(std::string(error.what()).find("11 collectives counted in 5 steps"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace muonbench
