// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fp64_trajectory.h"

#include <algorithm>
#include <cmath>

#include "tests/support/shard_oracle.h"

#include "src/model/values.h"

namespace muonbench {

using reference::Matrix;

namespace {

const std::vector<reference::Polynomial> kQuintic = {{4.0848, -6.8946, 2.9270},
                                                     {3.9505, -6.3029, 2.6377},
                                                     {3.7418, -5.5913, 2.3037},
                                                     {2.8769, -3.1427, 1.2046},
                                                     {2.8366, -3.0525, 1.2012}};

}  // namespace

Block whole(const Parameter& param) {
  Block block{{}, 0, param.shape.cols};
  for (std::int64_t row = 0; row < param.shape.rows; ++row) block.rows.push_back(row);
  return block;
}

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

double miss_over_bound(const std::vector<float>& actual, const Matrix& expected, const ResolvedRun& run,
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
  if (!(moved > 0)) return std::nan("");
  return std::sqrt(missed) /
         (bound * std::sqrt(moved) + run.config.run.steps * std::ldexp(1.0, -24) * expected.norm());
}

}  // namespace muonbench
