// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Ways to travel: programs of all ranks under each, the bytes that each moves and the memory that it takes.
#include <algorithm>
#include <string>

#include "tests/support/program_walk.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

/// One way to travel, and what else a model needs to be told.
struct Way {
  ExchangeWay exchange = ExchangeWay::kTwoStage;
  DType return_dtype = DType::kFp32;
  GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn;
  int waves = 1;

  [[nodiscard]] ModelOptions options() const {
    return {.homes = lpt(gtp_only), .exchange = exchange, .return_dtype = return_dtype, .waves = waves};
  }
};

std::string describe(DomainShape domain, const Way& way) {
  return std::to_string(domain.gtp_remat) + " x " + std::to_string(domain.tp) + ", " +
         std::string(name_in(kExchangeWayNames, way.exchange)) + ", " +
         std::string(name_in(kDTypeNames, way.return_dtype)) + ", " +
         std::string(name_in(kGtpOnlyHomesNames, way.gtp_only)) + ", " + std::to_string(way.waves) + " waves";
}

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const auto& [exchange, exchange_name] : kExchangeWayNames)
    for (const auto& [dtype, dtype_name] : kDTypeNames)
      for (const GtpOnlyHomes gtp_only : {GtpOnlyHomes::kColumn, GtpOnlyHomes::kSingle})
        for (const int waves : {1, 3}) ways.push_back({exchange, dtype, gtp_only, waves});
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

// ---- Bytes over the whole network, in units of one weight's fp32 bytes. 96 x 96 divides everywhere: no
// pads.

constexpr std::int64_t kSide = 96, kUnit = kSide * kSide * 4;

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

// ---- Waves

std::vector<Parameter> equal_params(int count) {
  std::vector<Parameter> params;
  for (int i = 0; i < count; ++i) params.push_back(muon("w." + std::to_string(i), {48, 48}, 0));
  return params;
}

std::int64_t peak_exchange(DomainShape domain, const Way& way) {
  const TestModel model(equal_params(64), domain_grid(domain.gtp_remat, domain.tp), way.options());
  std::int64_t most = 0;
  for (const StepProgram& program : model.programs("layer_sharded"))
    most = std::max(most, ledger_of(program).of(MemoryUse::kExchange).value());
  return most;
}

TEST(Waves, TakeTwoOfTheirShareOfTheExchangeBuffers) {
  for (const DomainShape domain : {DomainShape{8, 1}, DomainShape{4, 2}, DomainShape{2, 4}}) {
    for (const ExchangeWay exchange : {ExchangeWay::kTwoStage, ExchangeWay::kFused}) {
      const std::int64_t at_once = peak_exchange(domain, {exchange});
      for (const int waves : {2, 4, 8, 16}) {
        const Way way{exchange, DType::kFp32, GtpOnlyHomes::kColumn, waves};
        // One wave on its way there and one on its way back, each with what it sends and receives; a tenth
        // for homes that one wave fills more than another.
        EXPECT_LE(static_cast<double>(peak_exchange(domain, way)),
                  (2.0 / waves + 0.1) * static_cast<double>(at_once))
            << describe(domain, way);
      }
    }
  }
}

TEST(Waves, MoveTheSameBytesInMoreCollectives) {
  for (const DomainShape domain : all_domains()) {
    for (const ExchangeWay exchange : {ExchangeWay::kTwoStage, ExchangeWay::kFused}) {
      const auto counts = [&](int waves) {
        const Way way{exchange, DType::kFp32, GtpOnlyHomes::kColumn, waves};
        return TestModel(equal_params(64), domain_grid(domain.gtp_remat, domain.tp), way.options())
            .counts("layer_sharded");
      };
      const auto at_once = counts(1), in_waves = counts(4);
      for (std::size_t r = 0; r < at_once.size(); ++r) {
        EXPECT_EQ(at_once[r].sent, in_waves[r].sent);
        EXPECT_EQ(at_once[r].received, in_waves[r].received);
        EXPECT_EQ(at_once[r].ns_calls, in_waves[r].ns_calls);
        EXPECT_EQ(at_once[r].collectives * 4, in_waves[r].collectives);
      }
    }
  }
}

TEST(Waves, BeyondTheNumberOfWeightsAreLeftOut) {
  const GridShape grid = domain_grid(2, 2);
  const auto programs = [&](int waves) {
    return TestModel(equal_params(3), grid, {.exchange = ExchangeWay::kFused, .waves = waves})
        .programs("layer_sharded");
  };
  const auto three = programs(3), many = programs(1000);
  for (std::size_t r = 0; r < three.size(); ++r) {
    EXPECT_EQ(three[r].ops.size(), many[r].ops.size());
    EXPECT_EQ(ledger_of(three[r]).by_use, ledger_of(many[r]).by_use);
  }
  // Three pairs of collectives, on the rank that is at home to nothing too.
  const TestModel model(equal_params(3), grid, {.exchange = ExchangeWay::kFused, .waves = 1000});
  for (const StepCounts& one : model.counts("layer_sharded")) EXPECT_EQ(one.collectives, 6);
  ASSERT_NO_FATAL_FAILURE(expect_walk(model));
}

/// What stands in the program where NS of wave k is: which waves' collectives have started, and which have
/// been waited for.
TEST(Waves, TravelWhileTheOneBetweenThemIsInNs) {
  const TestModel model(equal_params(32), domain_grid(4, 1),
                        {.queues = QueueUse::kConcurrent, .exchange = ExchangeWay::kFused, .waves = 4});
  for (const StepProgram& program : model.programs("layer_sharded")) {
    ASSERT_EQ(program.queues, 2);
    std::vector<std::size_t> ns, there, back;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      EXPECT_EQ(op.queue, op.phase == Phase::kNs ? 1 : 0);
      if (op.phase == Phase::kNs && (ns.empty() || program.ops[i - 1].phase != Phase::kNs)) ns.push_back(i);
      if (group_of(op)) (op.phase == Phase::kStage1Forward ? there : back).push_back(i);
    }
    ASSERT_EQ(ns.size(), 4U);
    ASSERT_EQ(there.size(), 4U);
    ASSERT_EQ(back.size(), 4U);
    for (std::size_t k = 0; k < 4; ++k) {
      if (k + 1 < 4) {
        EXPECT_LT(there[k + 1], ns[k]) << "the next wave is under way";
      }
      if (k > 0) {
        EXPECT_LT(back[k - 1], ns[k]) << "the wave before is under way";
      }
      // NS depends on neither.
      for (std::size_t i = ns[k]; program.ops[i].phase == Phase::kNs; ++i)
        for (const int before : program.ops[i].after)
          EXPECT_FALSE(group_of(program.ops[static_cast<std::size_t>(before)]).has_value());
    }
  }
}

TEST(Waves, OfEveryParamGroupFollowItsOwnHomes) {
  const GridShape shape{
      .tp = 2, .gtp_remat = 4, .dp = 1, .pp = 1, .ep = 2, .expert_tp = 1, .expert_gtp_remat = 2};
  std::vector<Parameter> params;
  for (int i = 0; i < 9; ++i) {
    params.push_back(muon("both." + std::to_string(i), {32, 16}, i % 2));
    params.push_back(muon("rows." + std::to_string(i), {32, 16}));
    if (i % 3 == 0) params.back().group = "dense_b";
    params.push_back(expert(muon("expert." + std::to_string(i % 8), {24, 12})));
    params.back().expert_set = "expert";
    if (i == 8) params.pop_back();
  }
  for (const QueueUse queues : {QueueUse::kBackendRunsInTurn, QueueUse::kConcurrent}) {
    for (const Way& way : all_ways()) {
      ModelOptions options = way.options();
      options.queues = queues;
      SCOPED_TRACE(describe({4, 2}, way));
      const TestModel model(params, shape, options);
      ProgramWalk walk(model, model.programs("layer_sharded"));
      ASSERT_NO_THROW(walk.run());
      ASSERT_NO_THROW(walk.check_weights());
    }
  }
}

}  // namespace
}  // namespace muonbench
