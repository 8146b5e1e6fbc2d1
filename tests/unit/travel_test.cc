// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Ways to travel: programs of all ranks under each, and the bytes that each moves.
#include <algorithm>
#include <string>

#include "tests/unit/way_to_travel.h"

namespace muonbench {
namespace {

// 96 x 96 divides everywhere: no pads without alignment.
constexpr std::int64_t kSide = 96, kUnit = kSide * kSide * 4;

// ---- Every element to its home and back, whatever the way.

TEST(Travel, BringsEveryElementHomeAndBackOnEveryDomain) {
  for (const DomainShape domain : all_domains()) {
    for (const Way& way : all_ways()) {
      SCOPED_TRACE(describe(domain, way));
      const GridShape grid = domain_grid(domain.gtp_remat, domain.tp);
      ModelOptions options = way.options();
      ASSERT_NO_FATAL_FAILURE(expect_walk(TestModel(fused_params(), grid, options)));
      options.pad_for_alignment = 1;
      ASSERT_NO_FATAL_FAILURE(expect_walk(TestModel(mixed_params(), grid, options)));
    }
  }
}

TEST(Travel, BringsEveryElementToAnyHomeInAnyBatches) {
  for (const DomainShape domain : all_domains()) {
    for (const Way& way : all_ways()) {
      for (unsigned seed = 0; seed < 2; ++seed) {
        ModelOptions options = way.options();
        options.homes = any_homes(seed, way.gtp_only);
        options.ns_batch_size = 1 + static_cast<int>(seed);
        SCOPED_TRACE(describe(domain, way) + ", seed " + std::to_string(seed));
        const GridShape grid = domain_grid(domain.gtp_remat, domain.tp);
        ASSERT_NO_FATAL_FAILURE(expect_walk(TestModel(mixed_params(), grid, options)));
      }
    }
  }
}

// ---- What is at home already.

TEST(Travel, LeavesEveryOwnBlockWhereItIs) {
  for (const DomainShape domain : all_domains()) {
    for (const Way& way : all_ways()) {
      SCOPED_TRACE(describe(domain, way));
      const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp), way.options());
      const std::vector<StepProgram> programs = model.programs("layer_sharded");
      std::int64_t in_place = 0;
      for (int r = 0; r < domain.size(); ++r) {
        for (const Op& op : programs.at(static_cast<std::size_t>(r)).ops) {
          const auto* exchange = std::get_if<AllToAllOp>(&op.work);
          if (exchange == nullptr) continue;
          const auto me =
              static_cast<std::size_t>(model.grid().index_in_group(exchange->group, WorldRank(r)).value());
          EXPECT_EQ(exchange->sends.at(me).size, Elements(0));
          EXPECT_EQ(exchange->receives.at(me).size, Elements(0));
          in_place += exchange->in_place.size.value();
        }
      }
      EXPECT_EQ(in_place > 0, domain.size() > 1);
    }
  }
}

TEST(Travel, CopiesOwnBlocksWhileTheOthersAreOnTheirWay) {
  for (const DomainShape domain : {DomainShape{4, 1}, DomainShape{1, 4}, DomainShape{2, 2}}) {
    std::vector<Parameter> params;
    for (int i = 0; i < 8; ++i) params.push_back(muon("w." + std::to_string(i), {48, 48}, 0));
    const TestModel model(params, domain_grid(domain.gtp_remat, domain.tp),
                          {.pad_for_alignment = 1, .exchange = ExchangeWay::kFused});
    for (const StepProgram& program : model.programs("layer_sharded")) {
      int exchanges = 0;
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto* exchange = std::get_if<AllToAllOp>(&program.ops[i].work);
        if (exchange == nullptr) continue;
        ++exchanges;
        const Op& next = program.ops.at(i + 1);
        const Access access = access_of(next);
        const bool there = next.phase == Phase::kStage1Forward;
        EXPECT_EQ((there ? access.reads : access.writes), std::vector{exchange->in_place.buffer});
        EXPECT_EQ(std::count(next.after.begin(), next.after.end(), static_cast<int>(i)), 0);
      }
      EXPECT_EQ(exchanges, 2);
    }
  }
}

TEST(Traffic, CountsOwnBlocksInTheBuffersThatAreExchangedAndNotOnTheWire) {
  for (const int ranks : {2, 4, 8}) {
    std::vector<Parameter> params;
    for (int i = 0; i < ranks; ++i) params.push_back(muon("w." + std::to_string(i), {kSide, kSide}));
    const TestModel model(params, domain_grid(ranks, 1), {.pad_for_alignment = 1});
    for (const StepCounts& counts : model.counts("layer_sharded")) {
      EXPECT_EQ(counts.exchange_buffer, Bytes(2 * kUnit));
      EXPECT_EQ(counts.exchange_wire * ranks, counts.exchange_buffer * (ranks - 1));
    }
  }
}

// ---- Bytes over the whole network, in units of one weight's fp32 bytes.

std::int64_t bytes_of_one(const Parameter& param, DomainShape domain, const Way& way) {
  ModelOptions options = way.options();
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
  for (const Row& row :
       {Row{{8, 1}, 1.75, 1.75}, Row{{4, 2}, 2.5, 1.75}, Row{{8, 2}, 2.75, 1.875}, Row{{2, 2}, 2, 1.5}}) {
    for (const int tp_dim : {0, 1}) {
      const Parameter param = muon("w", {kSide, kSide}, tp_dim);
      EXPECT_EQ(static_cast<double>(bytes_of_one(param, row.domain, {})), row.two_stage * kUnit);
      EXPECT_EQ(static_cast<double>(bytes_of_one(param, row.domain, {.exchange = ExchangeWay::kFused})),
                row.fused * kUnit);
    }
  }
}

TEST(Traffic, OfAFusedExchangeFollowsTheFormulasForEveryShardingOnEveryDomain) {
  const Way fused{.exchange = ExchangeWay::kFused};
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

TEST(Traffic, OfAReturnInBf16IsHalfOnTheWayBack) {
  for (const DomainShape domain : all_domains()) {
    for (const ExchangeWay exchange : {ExchangeWay::kTwoStage, ExchangeWay::kFused}) {
      const Way fp32{exchange}, bf16{exchange, DType::kBf16};
      SCOPED_TRACE(describe(domain, bf16));
      for (const Parameter& param : {muon("w", {kSide, kSide}, 0), muon("w", {kSide, kSide}, 1),
                                     muon("w", {kSide, kSide}), untagged(muon("w", {kSide, kSide}))})
        EXPECT_EQ(bytes_of_one(param, domain, bf16) * 4, bytes_of_one(param, domain, fp32) * 3);
    }
  }
}

TEST(Traffic, OfAGtpOnlyWeightWithOneHomeIsThePublishedOneEitherWay) {
  for (const DomainShape domain : all_domains()) {
    const std::int64_t g = domain.gtp_remat, t = domain.tp;
    if (g == 1) continue;
    for (const ExchangeWay exchange : {ExchangeWay::kTwoStage, ExchangeWay::kFused}) {
      const Way way{exchange, DType::kFp32, GtpOnlyHomes::kSingle};
      SCOPED_TRACE(describe(domain, way));
      const Parameter param = muon("w", {kSide, kSide});
      // 1 + T - 2/G, times G to stay whole: (G-1)/G home, as much back, and G shards to T-1 TP peers each.
      EXPECT_EQ(bytes_of_one(param, domain, way) * g, ((1 + t) * g - 2) * kUnit);
      // bf16: the way home (G-1)/G in full, the rest halved.
      EXPECT_EQ(bytes_of_one(param, domain, {exchange, DType::kBf16, GtpOnlyHomes::kSingle}) * 2 * g,
                ((1 + t) * g - 2 + (g - 1)) * kUnit);
    }
  }
}

TEST(NsCalls, OfAGtpOnlyWeightAreOneAtASingleHomeAndAsManyAsTpPeersInAColumn) {
  for (const DomainShape domain : all_domains()) {
    if (domain.gtp_remat == 1) continue;
    for (const ExchangeWay exchange : {ExchangeWay::kTwoStage, ExchangeWay::kFused}) {
      const auto calls = [&](GtpOnlyHomes gtp_only) {
        const TestModel model({muon("w", {kSide, kSide})}, domain_grid(domain.gtp_remat, domain.tp),
                              Way{exchange, DType::kFp32, gtp_only}.options());
        std::int64_t sum = 0;
        for (const StepCounts& one : model.counts("layer_sharded")) sum += one.ns_calls;
        return sum;
      };
      EXPECT_EQ(calls(GtpOnlyHomes::kColumn), domain.tp);
      EXPECT_EQ(calls(GtpOnlyHomes::kSingle), 1);
    }
  }
}

TEST(Collectives, OfAFusedExchangeAreTwoWhateverTheTpDims) {
  for (const DomainShape domain : all_domains()) {
    std::vector<Parameter> params = mixed_params();
    std::erase_if(params, [](const Parameter& param) { return param.optimizer == OptimizerKind::kAdam; });
    for (const Way& way : all_ways()) {
      if (way.exchange != ExchangeWay::kFused || way.waves > 1) continue;
      const TestModel model(params, domain_grid(domain.gtp_remat, domain.tp), way.options());
      for (const StepCounts& counts : model.counts("layer_sharded"))
        EXPECT_EQ(counts.collectives, domain.size() > 1 ? 2 : 0);
    }
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
