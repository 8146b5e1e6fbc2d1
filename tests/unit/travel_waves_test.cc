// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Waves: what they take of memory, in what order they travel, and that nothing else changes.
#include <algorithm>
#include <string>

#include "tests/unit/way_to_travel.h"

#include "src/exec/queue_priorities.h"

namespace muonbench {
namespace {

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

TEST(Waves, GoBeforeTheQueueOfNs) {
  const auto orders = [](int waves, const std::string& mode) {
    const TestModel model(equal_params(8), domain_grid(2, 2),
                          {.queues = QueueUse::kConcurrent, .waves = waves});
    return queue_priorities(model.programs(mode).front());
  };
  EXPECT_EQ(orders(4, "layer_sharded"), (std::vector{QueuePriority::kHigh, QueuePriority::kNormal}));
  // One queue does it all.
  EXPECT_EQ(orders(1, "layer_sharded"), std::vector{QueuePriority::kNormal});
  EXPECT_EQ(orders(1, "adam_dim0"), std::vector{QueuePriority::kNormal});
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
