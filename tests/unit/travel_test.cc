// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Ways to travel: programs of all ranks under each, and the bytes that each moves.
#include <string>

#include "tests/support/program_walk.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

std::string describe(DomainShape domain, const ModelOptions& way) {
  return std::to_string(domain.gtp_remat) + " x " + std::to_string(domain.tp) + ", " +
         std::string(name_in(kExchangeWayNames, way.exchange));
}

std::vector<ModelOptions> all_ways() {
  std::vector<ModelOptions> ways;
  for (const auto& [exchange, name] : kExchangeWayNames) ways.push_back({.exchange = exchange});
  return ways;
}

// ---- Every element to its home and back, whatever the way.

void expect_walk(const TestModel& model) {
  ProgramWalk walk(model, model.programs("layer_sharded"));
  ASSERT_NO_THROW(walk.run());
  ASSERT_NO_THROW(walk.check_weights());
  for (int r = 0; r < model.grid().world_size(); ++r) {
    const WorldRank rank(r);
    const DomainPlace place = model.grid().coordinates(Family::kDense, rank).place;
    for (int i = 0; i < model.params().size(); ++i) {
      const ParamIndex p(i);
      const Parameter& param = model.params()[p];
      if (param.optimizer != OptimizerKind::kMuon || !param.has_gradient()) continue;
      const auto& home = model.inputs().homes[p.at()];
      const bool here = !home || home->is_at(place);
      ASSERT_EQ(walk.ns_runs(rank, p), here ? static_cast<int>(walk.matrices(rank, p).size()) : 0)
          << param.name << " on rank " << r;
    }
  }
}

TEST(Travel, BringsEveryElementHomeAndBackOnEveryDomain) {
  for (const DomainShape domain : all_domains()) {
    for (ModelOptions way : all_ways()) {
      for (const std::int64_t pad : {1, 16}) {
        way.pad_for_alignment = pad;
        SCOPED_TRACE(describe(domain, way));
        const GridShape grid = domain_grid(domain.gtp_remat, domain.tp);
        ASSERT_NO_FATAL_FAILURE(expect_walk(TestModel(mixed_params(), grid, way)));
        ASSERT_NO_FATAL_FAILURE(expect_walk(TestModel(fused_params(), grid, way)));
      }
    }
  }
}

TEST(Travel, BringsEveryElementToAnyHomeInAnyBatches) {
  for (const DomainShape domain : all_domains()) {
    for (ModelOptions way : all_ways()) {
      for (unsigned seed = 0; seed < 3; ++seed) {
        way.homes = any_homes(seed);
        way.ns_batch_size = 1 + static_cast<int>(seed);
        SCOPED_TRACE(describe(domain, way) + ", seed " + std::to_string(seed));
        const GridShape grid = domain_grid(domain.gtp_remat, domain.tp);
        ASSERT_NO_FATAL_FAILURE(expect_walk(TestModel(mixed_params(), grid, way)));
      }
    }
  }
}

// ---- Bytes over the whole network, in units of one weight's fp32 bytes. 96 x 96 divides everywhere: no
// pads.

constexpr std::int64_t kSide = 96, kUnit = kSide * kSide * 4;

std::int64_t bytes_of_one(const Parameter& param, DomainShape domain, const ModelOptions& way) {
  ModelOptions options = way;
  options.pad_for_alignment = 1;
  const TestModel model({param}, domain_grid(domain.gtp_remat, domain.tp), options);
  Bytes sent, received;
  for (const StepCounts& one : model.counts("layer_sharded")) {
    sent += one.sent;
    received += one.received;
  }
  EXPECT_EQ(sent, received);
  return sent.value();
}

TEST(Traffic, OfAFusedExchangeMatchesThePublishedTable) {
  struct Row {
    DomainShape domain;
    double two_stage, fused;
  };
  for (const Row& row : {Row{{8, 1}, 1.75, 1.75}, Row{{4, 2}, 2.5, 1.75}, Row{{8, 2}, 2.75, 1.875},
                         Row{{2, 2}, 2, 1.5}}) {
    for (const int tp_dim : {0, 1}) {
      const Parameter param = muon("w", {kSide, kSide}, tp_dim);
      EXPECT_EQ(static_cast<double>(bytes_of_one(param, row.domain, {})), row.two_stage * kUnit);
      EXPECT_EQ(static_cast<double>(bytes_of_one(param, row.domain, {.exchange = ExchangeWay::kFused})),
                row.fused * kUnit);
    }
  }
}

TEST(Traffic, OfAFusedExchangeFollowsTheFormulasForEveryShardingOnEveryDomain) {
  const ModelOptions fused{.exchange = ExchangeWay::kFused};
  for (const DomainShape domain : all_domains()) {
    const std::int64_t g = domain.gtp_remat, t = domain.tp;
    SCOPED_TRACE(describe(domain, fused));
    for (const int tp_dim : {0, 1})
      EXPECT_EQ(bytes_of_one(muon("w", {kSide, kSide}, tp_dim), domain, fused) * g * t,
                2 * (g * t - 1) * kUnit);
    // Every TP peer of the home column gets the whole matrix from the ranks of its own t.
    EXPECT_EQ(bytes_of_one(muon("w", {kSide, kSide}), domain, fused) * g, 2 * t * (g - 1) * kUnit);
    EXPECT_EQ(bytes_of_one(untagged(muon("w", {kSide, kSide})), domain, fused), 0);
  }
}

TEST(Collectives, OfAFusedExchangeAreTwoWhateverTheTpDims) {
  for (const DomainShape domain : all_domains()) {
    std::vector<Parameter> params = mixed_params();
    std::erase_if(params, [](const Parameter& param) { return param.optimizer == OptimizerKind::kAdam; });
    const TestModel model(params, domain_grid(domain.gtp_remat, domain.tp),
                          {.exchange = ExchangeWay::kFused});
    for (const StepCounts& counts : model.counts("layer_sharded"))
      EXPECT_EQ(counts.collectives, domain.size() > 1 ? 2 : 0);
  }
}

TEST(Collectives, OfFusedExchangesOfADenseAndAnExpertGroupAddUp) {
  const GridShape shape{
      .tp = 2, .gtp_remat = 4, .dp = 1, .pp = 1, .ep = 2, .expert_tp = 2, .expert_gtp_remat = 2};
  std::vector<Parameter> params;
  for (int i = 0; i < 8; ++i) {
    params.push_back(muon("both." + std::to_string(i), {32, 16}, i % 2));
    params.push_back(muon("rows." + std::to_string(i), {32, 16}));
    params.push_back(expert(muon("expert." + std::to_string(i), {24, 12}, i % 2)));
    params.back().expert_set = "expert";
  }
  const TestModel model(params, shape, {.exchange = ExchangeWay::kFused});
  for (const StepCounts& one : model.counts("layer_sharded")) EXPECT_EQ(one.collectives, 4);
  ProgramWalk walk(model, model.programs("layer_sharded"));
  ASSERT_NO_THROW(walk.run());
  ASSERT_NO_THROW(walk.check_weights());
}

}  // namespace
}  // namespace muonbench
