// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Whole parameters on replicas: the weights that one rank alone makes, bit for bit.
#include <numeric>
#include <string>

#include "tests/mpi/mpi_world.h"
#include "tests/support/mode_outcome.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

const std::vector<std::string> kNone;

void expect_sound(const Outcome& outcome) {
  EXPECT_EQ(outcome.faults, kNone);
  EXPECT_EQ(outcome.nonfinite, 0);
}

std::string describe(const RunConfig& config) {
  const ParallelismConfig& p = config.parallelism;
  return "gtp_remat " + std::to_string(p.gtp_remat) + ", tp " + std::to_string(p.tp) + ", dp " +
         std::to_string(p.dp) + ", pp " + std::to_string(p.pp) + ", ep " + std::to_string(p.ep) + ", " +
         std::string(name_in(kOwnerPolicyNames, config.layer_wise.policy)) + ", adam " +
         std::string(name_in(kLayerWiseAdamNames, config.layer_wise.adam));
}

class LayerWise : public testing::Test {
 protected:
  [[nodiscard]] int ranks() const { return world_.runtime.size(); }

  Outcome on_all(std::string_view mode, const RunConfig& config) {
    const auto run = resolve(config);
    MpiDomain here(world_, run->grid);
    return run_on_all_ranks(mode, *run, here.context());
  }

  void expect_as_alone(const RunConfig& config, const Outcome& reference) {
    SCOPED_TRACE(describe(config));
    const Outcome outcome = on_all("layer_wise", config);
    expect_sound(outcome);
    EXPECT_EQ(unequal(outcome, reference, resolve(config)->params), kNone);
  }

  MpiWorld world_;
};

std::vector<Parameter> with_experts() {
  std::vector<Parameter> params = mixed_params();
  for (int i = 0; i < 8; ++i) {
    params.push_back(expert(muon("up." + std::to_string(i), {24, 10}, i % 2)));
    params.back().expert_set = "up";
    params.push_back(expert(adam("table." + std::to_string(i), {14, 4})));
    params.back().expert_set = "table";
  }
  return params;
}

TEST_F(LayerWise, EqualsUnshardedBitForBitInEveryLayoutAndPolicy) {
  RunConfig config = run_config(mixed_params(), {1, 1});
  const Outcome reference = alone(world_, "duplicated", config);
  expect_sound(reference);
  for (const ParallelismConfig& layout : layouts_of(ranks())) {
    config.parallelism = layout;
    for (const auto& [policy, name] : kOwnerPolicyNames) {
      for (const auto& [adam_way, way] : kLayerWiseAdamNames) {
        config.layer_wise = {policy, adam_way};
        expect_as_alone(config, reference);
      }
    }
  }
}

TEST_F(LayerWise, EqualsUnshardedForExpertsOverEpAndStagesOverPp) {
  RunConfig config = run_config(with_experts(), {1, 1});
  for (std::size_t i = 0; i < config.model.params->size(); ++i)
    (*config.model.params)[i].group = (*config.model.params)[i].expert ? "expert" : "dense";
  const Outcome reference = alone(world_, "duplicated", config);
  for (const int pp : {1, 2}) {
    for (const int ep : {1, 2, 4}) {
      for (const int expert_gtp_remat : {1, 2}) {
        if (ranks() % (pp * ep * expert_gtp_remat) != 0) continue;
        for (ParallelismConfig layout : layouts_of(ranks() / pp)) {
          if (layout.dp == 1 && layout.tp > 1) continue;  // some of them will do
          layout.pp = pp;
          layout.ep = ep;
          layout.expert_gtp_remat = expert_gtp_remat;
          config.parallelism = layout;
          for (std::size_t i = 0; i < config.model.params->size(); ++i)
            (*config.model.params)[i].stage = static_cast<int>(i / 3) % pp;
          config.layer_wise.adam = ep == 2 ? LayerWiseAdam::kDim0 : LayerWiseAdam::kLayerWise;
          expect_as_alone(config, reference);
        }
      }
    }
  }
}

TEST_F(LayerWise, EqualsUnshardedForWeightsInFp32AndFusedOnesTakenApart) {
  RunConfig config = run_config(fused_params(), {1, 1});
  config.run.param_dtype = DType::kFp32;
  config.muon.split_qkv = true;
  const Outcome reference = alone(world_, "duplicated", config);
  for (const ParallelismConfig& layout : layouts_of(ranks())) {
    config.parallelism = layout;
    expect_as_alone(config, reference);
  }
}

TEST_F(LayerWise, StateOfAllRanksIsThatOfTheUnshardedModelWhereNoAxisKeepsCopies) {
  RunConfig config = run_config(mixed_params(), {1, 1});
  config.parallelism.pad_for_alignment = 0;
  const Outcome reference = alone(world_, "layer_sharded", config);
  config.parallelism.dp = ranks();
  for (const auto& [adam_way, way] : kLayerWiseAdamNames) {
    config.layer_wise.adam = adam_way;
    EXPECT_EQ(on_all("layer_wise", config).state_bytes, reference.state_bytes) << way;
  }
}

TEST_F(LayerWise, Bf16MomentsMakeTheSameBitsShardedOrNot) {
  RunConfig config = run_config(mixed_params(), {1, 1});
  const Outcome wide = alone(world_, "adam_replicated", config);
  config.adam.moment_dtype = DType::kBf16;
  const Outcome muon = alone(world_, "duplicated", config),
                all_adam = alone(world_, "adam_replicated", config);
  const ParamSet params = resolve(config)->params;
  EXPECT_NE(unequal(all_adam, wide, params), kNone) << "rounding of moments shows after five steps";
  for (const ParallelismConfig& layout : layouts_of(ranks())) {
    config.parallelism = layout;
    SCOPED_TRACE(describe(config));
    for (const char* mode : {"layer_wise", "layer_sharded", "duplicated"})
      EXPECT_EQ(unequal(on_all(mode, config), muon, params), kNone) << mode;
    for (const char* mode : {"adam_dim0", "adam_replicated"}) {
      const Outcome outcome = on_all(mode, config);
      expect_sound(outcome);
      EXPECT_EQ(unequal(outcome, all_adam, params), kNone) << mode;
    }
  }
}

}  // namespace
}  // namespace muonbench
