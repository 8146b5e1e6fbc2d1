// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// What each Muon mode orthogonalises, and with which scale, said once more in fp64: full matrices, shards,
// and the pieces of fused weights.
#include <string>

#include "tests/mpi/mpi_world.h"
#include "tests/support/fp64_trajectory.h"
#include "tests/support/mode_outcome.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

const std::vector<std::string> kNone;

void expect_near(const std::vector<float>& actual, const reference::Matrix& expected, const ResolvedRun& run,
                 const Parameter& param) {
  EXPECT_LE(miss_over_bound(actual, expected, run, param), 1.0) << param.name;
}

class Fp64Reference : public testing::Test {
 protected:
  template <class Check>
  void on_every_domain(RunConfig config, Check check) {
    muonbench::on_every_domain(
        world_, std::move(config), [&](const ResolvedRun& run, DomainShape domain, RankContext& context) {
          SCOPED_TRACE(testing::Message() << domain.gtp_remat << " x " << domain.tp << ", pads to "
                                          << run.config.parallelism.pad_for_alignment);
          check(run, domain, context);
        });
  }
  MpiWorld world_;
};

/// Every kind of shard, pads within shards and whole shards of pads; dims that all domains divide.
const std::vector<Parameter> kParams = {muon("rows_cut_twice", {72, 20}, 0), muon("cols_cut", {31, 48}, 1),
                                        untagged(muon("whole", {20, 12})), muon("rows_cut", {62, 12}),
                                        muon("one_row", {1, 9})};

RunConfig job(std::int64_t pad_for_alignment, const std::vector<Parameter>& params = kParams) {
  RunConfig config = run_config(params, {1, 1});
  config.parallelism.pad_for_alignment = pad_for_alignment;
  config.muon.fp32_matmul_prec = MatmulPrecision::kHighest;
  config.muon.lr = 0.02;
  config.run.steps = 2;
  return config;
}

TEST_F(Fp64Reference, LayerShardedAndDuplicatedOrthogonaliseFullMatrices) {
  on_every_domain(job(16), [](const ResolvedRun& run, DomainShape /*domain*/, RankContext& context) {
    for (const char* mode : {"layer_sharded", "duplicated"}) {
      const Outcome outcome = run_on_all_ranks(mode, run, context);
      for (std::size_t p = 0; p < run.params.params.size(); ++p) {
        const Parameter& param = run.params.params[p];
        expect_near(outcome.masters[p], trajectory(run, param, {whole(param)}), run, param);
      }
    }
  });
}

TEST_F(Fp64Reference, DistributedAndAutoOrthogonaliseFullMatricesToo) {
  std::vector<Parameter> params = kParams;
  params.push_back(muon("rows_cut_too", {62, 12}));
  params.push_back(muon("cols_cut_tall", {40, 24}, 1));
  params.push_back(muon("tall", {200, 12}));  // what auto distributes
  struct Row {
    MatmulPrecision precision;
    std::int64_t pad;
    int batch;
  };
  for (const auto& [precision, pad, batch] :
       {Row{MatmulPrecision::kHighest, 1, 1}, Row{MatmulPrecision::kHighest, 16, 3},
        Row{MatmulPrecision::kMedium, 16, 1}, Row{MatmulPrecision::kMedium, 1, 3}}) {
    RunConfig config = job(pad, params);
    config.muon.fp32_matmul_prec = precision;
    config.muon.ns_batch_size = batch;
    on_every_domain(config, [](const ResolvedRun& run, DomainShape /*domain*/, RankContext& context) {
      for (const char* mode : {"distributed", "auto"}) {
        SCOPED_TRACE(mode);
        const Outcome outcome = run_on_all_ranks(mode, run, context);
        EXPECT_EQ(outcome.faults, kNone);  // copies of a shard are equal
        EXPECT_EQ(outcome.nonfinite, 0);
        for (std::size_t p = 0; p < run.params.params.size(); ++p) {
          const Parameter& param = run.params.params[p];
          expect_near(outcome.masters[p], trajectory(run, param, {whole(param)}), run, param);
        }
      }
    });
  }
}

TEST_F(Fp64Reference, DistributedTakesSyrkAndSchedulesWithoutSquares) {
  RunConfig config = job(16);
  if (world_.device->capabilities().syrk) config.muon.ns_algorithm = NsAlgorithm::kSyrk;
  config.muon.coefficient_type = "custom";
  config.muon.num_ns_steps = 3;
  config.muon.custom_coefficients = {{1.5, -0.5, 0.0}, {2.0, -1.5, 0.5}, {1.5, -0.5, 0.0}};
  on_every_domain(config, [](const ResolvedRun& run, DomainShape /*domain*/, RankContext& context) {
    const Outcome outcome = run_on_all_ranks("distributed", run, context);
    EXPECT_EQ(outcome.faults, kNone);
    for (std::size_t p = 0; p < run.params.params.size(); ++p) {
      const Parameter& param = run.params.params[p];
      expect_near(outcome.masters[p], trajectory(run, param, {whole(param)}), run, param);
    }
  });
}

TEST_F(Fp64Reference, BlockwiseOrthogonalisesEachShardWithTheScaleOfItsOwnShape) {
  for (const std::int64_t pad : {1, 16}) {
    for (const int batch : {1, 3}) {
      RunConfig config = job(pad);
      config.muon.ns_batch_size = batch;
      on_every_domain(config, [&](const ResolvedRun& run, DomainShape domain, RankContext& context) {
        const Outcome outcome = run_on_all_ranks("blockwise", run, context);
        EXPECT_EQ(outcome.faults, kNone);  // copies of a shard are equal
        EXPECT_EQ(outcome.nonfinite, 0);
        std::int64_t matrices = 0;
        for (std::size_t p = 0; p < run.params.params.size(); ++p) {
          const Parameter& param = run.params.params[p];
          const std::vector<Block> blocks = shards(param, domain, pad);
          expect_near(outcome.masters[p], trajectory(run, param, blocks), run, param);
          const int copies = (param.gtp_remat ? 1 : domain.gtp_remat) * (param.tp_dim ? 1 : domain.tp);
          matrices += static_cast<std::int64_t>(blocks.size()) * copies;
        }
        EXPECT_EQ(outcome.ns_calls, matrices);
      });
    }
  }
}

TEST_F(Fp64Reference, FusedWeightsAreOrthogonalisedByPieceWithTheScaleOfItsOwnShape) {
  for (const int batch : {1, 2}) {
    RunConfig config = job(16, fused_params());
    config.muon.split_qkv = true;
    config.muon.ns_batch_size = batch;
    on_every_domain(config, [](const ResolvedRun& run, DomainShape domain, RankContext& context) {
      for (const char* mode : {"layer_sharded", "duplicated", "distributed", "auto", "blockwise"}) {
        const Outcome outcome = run_on_all_ranks(mode, run, context);
        EXPECT_EQ(outcome.faults, kNone);
        for (std::size_t p = 0; p < run.params.params.size(); ++p) {
          const Parameter& param = run.params.params[p];
          if (!param.has_gradient()) continue;
          const bool by_shard = std::string(mode) == "blockwise";
          const std::vector<Block> blocks =
              by_shard ? shards(param, domain, run.config.parallelism.pad_for_alignment)
                       : std::vector{whole(param)};
          SCOPED_TRACE(mode);
          expect_near(outcome.masters[p], trajectory(run, param, pieces(param, blocks)), run, param);
        }
      }
    });
  }
}

TEST_F(Fp64Reference, BlockwiseIsDuplicatedBitForBitWhereNothingIsSplit) {
  RunConfig config = job(16);
  for (ParamConfig& entry : *config.model.params) {
    entry.gtp_remat = false;
    entry.tp_dim.reset();
  }
  on_every_domain(config, [](const ResolvedRun& run, DomainShape /*domain*/, RankContext& context) {
    EXPECT_EQ(unequal(run_on_all_ranks("blockwise", run, context),
                      run_on_all_ranks("duplicated", run, context), run.params),
              kNone);
  });
}

}  // namespace
}  // namespace muonbench
