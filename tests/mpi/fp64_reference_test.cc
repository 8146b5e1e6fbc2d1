// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// What each Muon mode orthogonalises, and with which scale, said once more in fp64: full matrices, shards,
// and the pieces of fused weights.
#include <algorithm>
#include <cmath>
#include <string>

#include "tests/mpi/mpi_world.h"
#include "tests/reference/naive_newton_schulz.h"
#include "tests/support/mode_outcome.h"
#include "tests/support/shard_oracle.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

using reference::Cell;
using reference::Matrix;

const std::vector<std::string> kNone;
const std::vector<reference::Polynomial> kQuintic = {{4.0848, -6.8946, 2.9270},
                                                     {3.9505, -6.3029, 2.6377},
                                                     {3.7418, -5.5913, 2.3037},
                                                     {2.8769, -3.1427, 1.2046},
                                                     {2.8366, -3.0525, 1.2012}};

/// Cells of a full matrix that NS takes as a matrix of their own.
struct Block {
  std::vector<std::int64_t> rows;
  std::int64_t first_col, cols;
};

Block whole(const Parameter& param) {
  Block block{{}, 0, param.shape.cols};
  for (std::int64_t row = 0; row < param.shape.rows; ++row) block.rows.push_back(row);
  return block;
}

/// Shards that are more than pads; copies of one shard once.
std::vector<Block> shards(const Parameter& param, DomainShape domain, std::int64_t pad_for_alignment) {
  const reference::ShardOracle oracle({param.shape.rows, param.shape.cols},
                                      {domain.tp > 1 ? param.tp_dim : std::nullopt, param.gtp_remat},
                                      domain.gtp_remat, domain.tp, pad_for_alignment);
  std::vector<Block> blocks;
  for (int g = 0; g < (param.gtp_remat ? domain.gtp_remat : 1); ++g) {
    for (int t = 0; t < (param.tp_dim ? domain.tp : 1); ++t) {
      Block block{{}, 0, oracle.shard().col};
      for (std::int64_t row = 0; row < oracle.shard().row; ++row) {
        const auto cell = oracle.element(g, t, {row, 0});
        if (!cell) continue;
        block.rows.push_back(cell->row);
        block.first_col = cell->col;
      }
      if (!block.rows.empty()) blocks.push_back(block);
    }
  }
  return blocks;
}

/// Each block's rows of q, of k and of v, by their place in the full matrix.
std::vector<Block> pieces(const Parameter& param, const std::vector<Block>& blocks) {
  if (param.qkv_split.empty()) return blocks;
  std::int64_t group = 0;
  for (const std::int64_t rows : param.qkv_split) group += rows;
  std::vector<Block> found;
  for (const Block& block : blocks) {
    std::int64_t first = 0;
    for (const std::int64_t rows : param.qkv_split) {
      Block piece{{}, block.first_col, block.cols};
      for (const std::int64_t row : block.rows)
        if (row % group >= first && row % group < first + rows) piece.rows.push_back(row);
      if (!piece.rows.empty()) found.push_back(piece);
      first += rows;
    }
  }
  return found;
}

/// Weights after all steps, in fp64 throughout: decay, momentum, nesterov, NS of each block, its scale.
Matrix trajectory(const ResolvedRun& run, const Parameter& param, const std::vector<Block>& blocks) {
  const MuonConfig& muon = run.config.muon;
  std::vector<reference::Polynomial> schedule = kQuintic;
  if (!muon.custom_coefficients.empty()) schedule.clear();
  for (const NsCoefficients& step : muon.custom_coefficients) schedule.push_back({step.a, step.b, step.c});
  const std::uint64_t seed = run.config.gradients.seed;
  Matrix weight(param.shape.rows, param.shape.cols), momentum(param.shape.rows, param.shape.cols);
  for (std::int64_t r = 0; r < weight.rows; ++r)
    for (std::int64_t c = 0; c < weight.cols; ++c) weight.at(r, c) = weight_value(seed, param, r, c);
  for (int step = 0; step < run.config.run.steps; ++step) {
    for (const Block& block : blocks) {
      const auto rows = static_cast<std::int64_t>(block.rows.size());
      Matrix input(rows, block.cols);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < block.cols; ++c) {
          const std::int64_t row = block.rows[static_cast<std::size_t>(r)], col = block.first_col + c;
          const double gradient = gradient_value(seed, step, param, row, col);
          double& moment = momentum.at(row, col);
          moment = muon.momentum * moment + (1 - muon.momentum) * gradient;
          input.at(r, c) = (1 - muon.momentum) * gradient + muon.momentum * moment;
        }
      }
      const Matrix update = reference::newton_schulz(input, schedule, reference::Arithmetic::kExact);
      const double scale = std::sqrt(static_cast<double>(std::max(rows, block.cols)));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < block.cols; ++c) {
          double& value = weight.at(block.rows[static_cast<std::size_t>(r)], block.first_col + c);
          value -= muon.lr * muon.weight_decay * value;
          value -= muon.lr * scale * update.at(r, c);
        }
    }
  }
  return weight;
}

/// As golden files are judged: relative to how far the weights moved, and a rounding of 2^-24 a step.
void expect_near(const std::vector<float>& actual, const Matrix& expected, const ResolvedRun& run,
                 const Parameter& param) {
  const bool medium = run.config.muon.fp32_matmul_prec == MatmulPrecision::kMedium;
  const double bound = medium ? 3e-2 : 2e-4;
  double missed = 0, moved = 0;
  for (std::int64_t i = 0; i < expected.rows * expected.cols; ++i) {
    const std::int64_t row = i / expected.cols, col = i % expected.cols;
    const double before = weight_value(run.config.gradients.seed, param, row, col);
    missed += std::pow(double{actual.at(static_cast<std::size_t>(i))} - expected.at(row, col), 2);
    moved += std::pow(expected.at(row, col) - before, 2);
  }
  ASSERT_GT(moved, 0);
  EXPECT_LE(std::sqrt(missed),
            bound * std::sqrt(moved) + run.config.run.steps * std::ldexp(1.0, -24) * expected.norm())
      << param.name;
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
