// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Param groups on queues of their own: programs of all ranks, and whole steps on queues that are threads.
#include <algorithm>
#include <map>

#include "tests/support/async_device.h"
#include "tests/support/mode_outcome.h"
#include "tests/support/program_walk.h"
#include "tests/support/test_model.h"
#include "tests/support/thread_world.h"
#include <gtest/gtest.h>

#include "src/exec/executor.h"

namespace muonbench {
namespace {

Parameter expert_of(const std::string& name, Shape shape, std::optional<int> tp_dim = std::nullopt) {
  Parameter param = expert(muon(name, shape, tp_dim));
  param.expert_set = "experts";
  return param;
}

/// Two dense groups on one domain, experts on another, Adam's parameters of both.
std::vector<Parameter> grouped_params() {
  std::vector<Parameter> params = mixed_params();
  for (std::size_t i = 0; i < params.size(); i += 2)
    if (params[i].optimizer == OptimizerKind::kMuon) params[i].group = "dense_b";
  for (int i = 0; i < 4; ++i) params.push_back(expert_of("expert." + std::to_string(i), {48, 24}));
  Parameter table = untagged(expert(adam("expert_table", {24, 6})));
  table.expert_set = "tables";
  params.push_back(table);
  table.name = "expert_table_too";
  params.push_back(table);
  return params;
}

/// Grids of 4 and 8 ranks on which experts have a domain of their own, of one rank too.
std::vector<GridShape> grids() {
  return {{.tp = 2, .gtp_remat = 2, .ep = 2, .expert_gtp_remat = 2},
          {.tp = 2, .gtp_remat = 2, .ep = 2},
          {.tp = 2, .gtp_remat = 2, .dp = 2, .ep = 2, .expert_gtp_remat = 2},
          {.gtp_remat = 8, .ep = 2, .expert_gtp_remat = 4}};
}

std::string describe(const GridShape& shape) {
  return "tp " + std::to_string(shape.tp) + ", gtp_remat " + std::to_string(shape.gtp_remat) + ", dp " +
         std::to_string(shape.dp) + ", ep " + std::to_string(shape.ep) + ", expert_gtp_remat " +
         std::to_string(shape.expert_gtp_remat);
}

/// Every rank's program of layer_sharded on every grid.
template <class Check>
void for_every_concurrent_program(Check check) {
  for (const GridShape& shape : grids()) {
    SCOPED_TRACE(describe(shape));
    const TestModel model(grouped_params(), shape, {.queues = QueueUse::kConcurrent});
    for (const StepProgram& program : model.programs("layer_sharded")) {
      ASSERT_EQ(program.queues, 2);
      check(program);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

int queue_of(const StepProgram& program, BufferId id) {
  return program.ops[static_cast<std::size_t>(program[id].first_op)].queue;
}

TEST(ConcurrentGroups, ElementsReachTheirHomesOnTwoQueues) {
  for (const GridShape& shape : grids()) {
    SCOPED_TRACE(describe(shape));
    const TestModel model(grouped_params(), shape, {.queues = QueueUse::kConcurrent});
    ProgramWalk walk(model, model.programs("layer_sharded"));
    ASSERT_NO_THROW(walk.run());
    ASSERT_NO_THROW(walk.check_weights());
  }
}

TEST(ConcurrentGroups, BuffersOfDifferentQueuesShareNoMemoryWhateverTheirLives) {
  for_every_concurrent_program([](const StepProgram& program) {
    for (const auto& [use, arena] : program.arenas) {
      for (const auto& [a, a_at] : arena.offsets) {
        ASSERT_LE(a_at + program[a].bytes(), arena.size);
        for (const auto& [b, b_at] : arena.offsets) {
          if (queue_of(program, a) == queue_of(program, b)) continue;
          if (program[a].bytes() == Bytes(0) || program[b].bytes() == Bytes(0)) continue;
          ASSERT_TRUE(a_at + program[a].bytes() <= b_at || b_at + program[b].bytes() <= a_at)
              << program[a].name << " and " << program[b].name;
        }
      }
    }
  });
}

TEST(ConcurrentGroups, NothingButASharedCommunicatorMakesAPipelineWaitForAnother) {
  for_every_concurrent_program([](const StepProgram& program) {
    for (const Op& op : program.ops) {
      for (const int before : op.after) {
        const Op& earlier = program.ops[static_cast<std::size_t>(before)];
        if (earlier.queue == op.queue) continue;
        ASSERT_TRUE(group_of(op).has_value()) << name_of(op.phase) << " waits for " << name_of(earlier.phase);
        ASSERT_EQ(group_of(op), group_of(earlier));
      }
    }
  });
}

TEST(ConcurrentGroups, CollectivesOfOneCommunicatorNeverOverlap) {
  int across = 0;
  for_every_concurrent_program([&](const StepProgram& program) {
    std::map<GroupKey, int> latest;
    for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
      const Op& op = program.ops[static_cast<std::size_t>(i)];
      const auto key = group_of(op);
      if (!key) continue;
      if (const auto before = latest.find(*key); before != latest.end()) {
        const Op& earlier = program.ops[static_cast<std::size_t>(before->second)];
        const bool in_order =
            earlier.queue == op.queue || std::count(op.after.begin(), op.after.end(), before->second) == 1;
        ASSERT_TRUE(in_order) << name_of(*key);
        across += earlier.queue == op.queue ? 0 : 1;
      }
      latest[*key] = i;
    }
  });
  EXPECT_GT(across, 0)
      << "the experts' param_gather uses the communicator of their exchange: nothing was shown";
}

TEST(ConcurrentGroups, CostNothingButMemoryAndNothingAtAllWhereTheBackendRunsQueuesInTurn) {
  for (const GridShape& shape : grids()) {
    SCOPED_TRACE(describe(shape));
    const TestModel in_turn(grouped_params(), shape),
        off(grouped_params(), shape, {.queues = QueueUse::kSwitchedOff}),
        concurrent(grouped_params(), shape, {.queues = QueueUse::kConcurrent});
    const auto a = in_turn.programs("layer_sharded"), b = off.programs("layer_sharded"),
               c = concurrent.programs("layer_sharded");
    for (std::size_t r = 0; r < a.size(); ++r) {
      EXPECT_EQ(a[r].queues, 1);
      EXPECT_EQ(ledger_of(a[r]).by_use, ledger_of(b[r]).by_use);
      const WorldRank rank(static_cast<int>(r));
      const StepCounts serial = count_step(a[r], in_turn.grid(), rank);
      const StepCounts beside = count_step(c[r], concurrent.grid(), rank);
      EXPECT_EQ(serial.sent, beside.sent);
      EXPECT_EQ(serial.collectives, beside.collectives);
      for (const MemoryUse use : kAllMemoryUses) {
        if (std::find(kTransientUses.begin(), kTransientUses.end(), use) == kTransientUses.end())
          EXPECT_EQ(ledger_of(a[r]).of(use), ledger_of(c[r]).of(use)) << name_of(use);
        else
          EXPECT_LE(ledger_of(a[r]).of(use), ledger_of(c[r]).of(use)) << name_of(use);
      }
    }
  }
}

RunConfig grouped_config(const GridShape& shape) {
  const std::vector<Parameter> params = grouped_params();
  RunConfig config = run_config(params, {shape.gtp_remat, shape.tp});
  config.parallelism.dp = shape.dp;
  config.parallelism.ep = shape.ep;
  config.parallelism.expert_gtp_remat = shape.expert_gtp_remat;
  config.muon.groups["dense_b"] = {.lr = 1e-3, .weight_decay = 0.1};
  for (std::size_t i = 0; i < params.size(); ++i) {
    ParamConfig& entry = (*config.model.params)[i];
    entry.expert = params[i].expert;
    entry.expert_set = params[i].expert_set;
    if (params[i].group == "dense_b") entry.group = "dense_b";
  }
  return config;
}

/// A mode on queues that are threads.
Outcome outcome_of(std::string_view mode, const RunConfig& config, QueueUse use) {
  const auto run = resolve(config);
  run->inputs.queues = queue_groups(run->inputs.groups, run->grid, use, "test", config.muon.exchange);
  if (config.muon.exchange_chunks > 1 && use == QueueUse::kConcurrent) run->inputs.queues.put_ns_beside();
  Outcome outcome;
  const auto errors = run_as_threads(
      run->grid,
      [&](RankContext& context) {
        Outcome mine = run_on_all_ranks(mode, *run, context);
        if (context.rank == WorldRank(0)) outcome = std::move(mine);
      },
      make_async_comm, make_async_device);
  for (std::size_t r = 0; r < errors.size(); ++r) EXPECT_EQ(errors[r], "") << "rank " << r;
  return outcome;
}

void expect_bits_of_one_queue(std::string_view mode, const RunConfig& config) {
  const ParamSet params = resolve(config)->params;
  const Outcome serial = outcome_of(mode, config, QueueUse::kSwitchedOff);
  EXPECT_EQ(serial.faults, std::vector<std::string>());
  EXPECT_EQ(serial.nonfinite, 0);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Outcome concurrent = outcome_of(mode, config, QueueUse::kConcurrent);
    EXPECT_EQ(concurrent.faults, std::vector<std::string>());
    EXPECT_EQ(unequal(serial, concurrent, params), std::vector<std::string>());
    EXPECT_EQ(serial.digests, concurrent.digests);
  }
}

TEST(ConcurrentGroups, OnQueuesThatAreThreadsTheBitsAreThoseOfOneQueue) {
  for (const GridShape& shape : grids()) {
    for (const char* mode : {"layer_sharded", "layer_wise"}) {
      SCOPED_TRACE(describe(shape) + ", " + mode);
      expect_bits_of_one_queue(mode, grouped_config(shape));
    }
  }
}

TEST(ConcurrentGroups, WavesBesideTheirNsHaveTheBitsOfOneQueueToo) {
  for (const GridShape& shape : grids()) {
    SCOPED_TRACE(describe(shape));
    RunConfig config = grouped_config(shape);
    const ParamSet params = resolve(config)->params;
    const Outcome at_once = outcome_of("layer_sharded", config, QueueUse::kSwitchedOff);
    for (const auto& [exchange, name] : kExchangeWayNames) {
      config.muon.exchange = exchange;
      config.muon.return_dtype = exchange == ExchangeWay::kFused ? DType::kBf16 : DType::kFp32;
      config.muon.gtp_only_homes = GtpOnlyHomes::kSingle;
      config.muon.exchange_chunks = 3;
      for (int repeat = 0; repeat < 3; ++repeat) {
        const Outcome in_waves = outcome_of("layer_sharded", config, QueueUse::kConcurrent);
        EXPECT_EQ(in_waves.faults, std::vector<std::string>());
        EXPECT_EQ(unequal(at_once, in_waves, params), std::vector<std::string>()) << name;
      }
    }
  }
}

TEST(ConcurrentGroups, PhasesOfTwoQueuesSumToTheStepWhereEachIsDrained) {
  RunConfig config = grouped_config(grids().front());
  config.run.timing = Timing::kPhases;
  const auto run = resolve(config);
  run->inputs.queues = queue_groups(run->inputs.groups, run->grid, QueueUse::kConcurrent, "test");
  const auto errors = run_as_threads(
      run->grid,
      [&](RankContext& context) {
        const GeneratedValues values(run->params, 1, {});
        const ModeRun mine =
            run_mode(mode_named("layer_sharded"), run->inputs, run->config.run, values, context);
        for (const StepTimes& times : mine.steps) {
          double sum = 0.0;
          for (const double seconds : times.phases) sum += seconds;
          // Between two phases the clock is read twice, and that is all that is not in one.
          EXPECT_LE(sum, times.seconds);
          EXPECT_GE(times.phases[static_cast<std::size_t>(Phase::kNs)], 0.0);
        }
      },
      make_async_comm, make_async_device);
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace muonbench
