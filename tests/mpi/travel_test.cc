// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Bits, not tolerances: whatever the layout and the way to travel, layer_sharded makes the weights that one
// rank alone makes.
#include <string>

#include "tests/mpi/mpi_world.h"
#include "tests/support/mode_outcome.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

const std::vector<std::string> kNone;

class Travel : public testing::Test {
 protected:
  void expect_bits_of_one_rank(const RunConfig& config) {
    const Outcome reference = alone(world_, "duplicated", config);
    on_every_domain(world_, config,
                    [&](const ResolvedRun& on_domain, DomainShape /*domain*/, RankContext& context) {
                      for (const MuonConfig& way : ways_to_travel(config.muon)) {
                        SCOPED_TRACE(describe(on_domain.config.parallelism) + ", " + describe(way));
                        RunConfig with_way = on_domain.config;
                        with_way.muon = way;
                        const auto run = resolve(with_way);
                        const Outcome outcome = run_on_all_ranks("layer_sharded", *run, context);
                        EXPECT_EQ(outcome.faults, kNone);
                        EXPECT_EQ(outcome.nonfinite, 0);
                        EXPECT_EQ(unequal(outcome, reference, run->params), kNone);
                      }
                    });
  }
  MpiWorld world_;
};

RunConfig two_steps(const std::vector<Parameter>& params, MatmulPrecision precision) {
  RunConfig config = run_config(params, {1, 1});
  config.run.steps = 2;
  config.muon.fp32_matmul_prec = precision;
  config.muon.extra_scale_factor = 0.7;
  return config;
}

TEST_F(Travel, ChangesNoBitOfAnyShardKindOnAnyDomain) {
  for (const MatmulPrecision precision : {MatmulPrecision::kMedium, MatmulPrecision::kHighest})
    expect_bits_of_one_rank(two_steps(mixed_params(), precision));
}

TEST_F(Travel, ScalesEachPieceOfAFusedWeightByItsOwnFactor) {
  for (const std::int64_t pad : {1, 16}) {
    RunConfig config = two_steps(fused_params(), MatmulPrecision::kMedium);
    config.muon.split_qkv = true;
    config.parallelism.pad_for_alignment = pad;
    expect_bits_of_one_rank(config);
  }
}

TEST_F(Travel, ChangesNoBitOfWeightsInFp32) {
  RunConfig config = two_steps(mixed_params(), MatmulPrecision::kMedium);
  config.run.param_dtype = DType::kFp32;
  config.muon.scale_mode = ScaleMode::kUnitRmsNorm;
  expect_bits_of_one_rank(config);
}

}  // namespace
}  // namespace muonbench
