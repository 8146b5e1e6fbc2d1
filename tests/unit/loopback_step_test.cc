// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Whole steps of eight ranks as threads of this process: what an executor does with programs, without MPI.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "tests/support/mode_outcome.h"
#include "tests/support/test_model.h"
#include "tests/support/thread_world.h"
#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/bench/rank_state.h"
#include "src/exec/before_step.h"
#include "src/exec/executor.h"

namespace muonbench {
namespace {

constexpr const char* kAllModes[] = {"layer_sharded", "duplicated", "distributed",
                                     "auto",          "adam_dim0",  "adam_replicated"};
const std::vector<DomainShape> kDomainsOfEight = {{1, 8}, {2, 4}, {4, 2}, {8, 1}};

void expect_no_errors(const std::vector<std::string>& errors) {
  for (std::size_t r = 0; r < errors.size(); ++r) EXPECT_EQ(errors[r], "") << "rank " << r;
}

/// One outcome per mode, as rank 0 sees it.
std::vector<Outcome> outcomes(const RunConfig& config, const std::vector<std::string>& modes) {
  const auto run = resolve(config);
  std::vector<Outcome> all(modes.size());
  expect_no_errors(run_as_threads(run->grid, [&](RankContext& context) {
    for (std::size_t m = 0; m < modes.size(); ++m) {
      Outcome mine = run_on_all_ranks(modes[m], *run, context);
      if (context.rank == WorldRank(0)) all[m] = std::move(mine);
    }
  }));
  return all;
}

void expect_sound(const Outcome& outcome) {
  EXPECT_EQ(outcome.faults, std::vector<std::string>());
  EXPECT_EQ(outcome.nonfinite, 0);
}

TEST(LoopbackStep, LayerShardedEqualsDuplicatedAndOneRankBitForBit) {
  for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
    RunConfig config = run_config(mixed_params(), {1, 1});
    config.muon.fp32_matmul_prec = precision;
    const Outcome alone = outcomes(config, {"duplicated"}).front();
    expect_sound(alone);
    for (const DomainShape domain : kDomainsOfEight) {
      config.parallelism.gtp_remat = domain.gtp_remat;
      config.parallelism.tp = domain.tp;
      const ParamSet params = resolve(config)->params;
      for (const Outcome& outcome : outcomes(config, {"layer_sharded", "duplicated"})) {
        SCOPED_TRACE(testing::Message() << domain.gtp_remat << " x " << domain.tp);
        expect_sound(outcome);
        EXPECT_EQ(unequal(outcome, alone, params), std::vector<std::string>());
      }
    }
  }
}

TEST(LoopbackStep, AdamByRowsEqualsReplicatedAdamAndOneRankBitForBit) {
  RunConfig config = run_config(mixed_params(), {1, 1});
  const Outcome alone = outcomes(config, {"adam_replicated"}).front();
  for (const DomainShape domain : kDomainsOfEight) {
    config.parallelism.gtp_remat = domain.gtp_remat;
    config.parallelism.tp = domain.tp;
    const ParamSet params = resolve(config)->params;
    for (const Outcome& outcome : outcomes(config, {"adam_dim0", "adam_replicated"})) {
      SCOPED_TRACE(testing::Message() << domain.gtp_remat << " x " << domain.tp);
      expect_sound(outcome);
      EXPECT_EQ(unequal(outcome, alone, params), std::vector<std::string>());
    }
  }
}

TEST(LoopbackStep, OneSteppedElementOffIsSeen) {
  RunConfig config = run_config({muon("w", {24, 16}, 0)}, {4, 2});
  const Outcome as_it_is = outcomes(config, {"layer_sharded"}).front();
  config.gradients.seed += 1;
  const Outcome other = outcomes(config, {"layer_sharded"}).front();
  EXPECT_EQ(unequal(as_it_is, other, resolve(config)->params), std::vector<std::string>{"w"});
}

/// A program bound on this rank, with its state.
struct Bound {
  Bound(std::string_view mode, const ResolvedRun& run, RankContext& context)
      : program(build_program(mode_named(mode), run.inputs, context.rank)),
        executor(program, context.device, context.comms.table()),
        state(program, run.inputs, context.rank, context.device, executor),
        values(run.params, run.config.gradients.seed, {}) {
    state.initialise(values);
  }
  void step(std::int64_t k) {
    state.load_gradients(values, k);
    static_cast<void>(executor.run_step(StepContext{k}, PhaseTiming::kOff));
  }
  StepProgram program;
  Executor executor;
  RankState state;
  GeneratedValues values;
};

TEST(LoopbackStep, CommunicatorsCountWhatTheProgramSays) {
  for (const DomainShape domain : kDomainsOfEight) {
    const auto run = resolve(run_config(mixed_params(), domain));
    expect_no_errors(run_as_threads(run->grid, [&](RankContext& context) {
      for (const char* mode : kAllModes) {
        Bound bound(mode, *run, context);
        const StepCounts one = count_step(bound.program, run->grid, context.rank);
        const TrafficCounters before = context.comms.counters();
        for (int k = 0; k < 3; ++k) bound.step(k);
        const TrafficCounters after = context.comms.counters();
        EXPECT_EQ(after.collectives - before.collectives, 3 * one.collectives) << mode;
        EXPECT_EQ(after.sent - before.sent, 3 * one.sent) << mode;
        EXPECT_EQ(after.received - before.received, 3 * one.received) << mode;
      }
    }));
  }
}

Bytes allocated(const Device& device) {
  Bytes sum;
  for (const MemoryUse use : kAllMemoryUses) sum += device.allocated(use);
  return sum;
}

TEST(LoopbackStep, AStepAllocatesNothingAndMovesNoBuffer) {
  const auto run = resolve(run_config(mixed_params(), {4, 2}));
  expect_no_errors(run_as_threads(run->grid, [&](RankContext& context) {
    for (const char* mode : kAllModes) {
      Bound bound(mode, *run, context);
      const Bytes before = allocated(context.device);
      // What is allocated is what the ledger says.
      EXPECT_EQ(before, ledger_of(bound.program).peak()) << mode;
      std::vector<const void*> addresses;
      for (int b = 0; b < static_cast<int>(bound.program.buffers.size()); ++b)
        addresses.push_back(bound.executor.data(BufferId{b}));
      for (int k = 0; k < 3; ++k) bound.step(k);
      EXPECT_EQ(allocated(context.device), before) << mode;
      for (int b = 0; b < static_cast<int>(addresses.size()); ++b)
        EXPECT_EQ(bound.executor.data(BufferId{b}), addresses[static_cast<std::size_t>(b)]) << mode;
    }
  }));
}

TEST(LoopbackStep, PadsOfWeightsAndMomentumStayZero) {
  const auto run = resolve(run_config(mixed_params(), {4, 2}));
  expect_no_errors(run_as_threads(run->grid, [&](RankContext& context) {
    for (const char* mode : {"layer_sharded", "duplicated", "distributed"}) {
      Bound bound(mode, *run, context);
      for (int k = 0; k < 3; ++k) bound.step(k);
      for (int b = 0; b < static_cast<int>(bound.program.buffers.size()); ++b) {
        const BufferSpec& buffer = bound.program[BufferId{b}];
        if (!buffer.slot || buffer.slot->pad_rows == 0) continue;
        std::vector<unsigned char> bytes(static_cast<std::size_t>(buffer.bytes().value()));
        context.device.download(bytes.data(), bound.executor.data(BufferId{b}), buffer.bytes());
        const auto pads = static_cast<std::ptrdiff_t>(
            bytes_of(Elements(buffer.slot->pad_rows * buffer.slot->cols), buffer.dtype).value());
        EXPECT_TRUE(
            std::all_of(bytes.end() - pads, bytes.end(), [](unsigned char byte) { return byte == 0; }))
            << buffer.name << " on rank " << context.rank.value();
      }
    }
  }));
}

TEST(LoopbackStep, ReductionsSumGradientsOverReplicasWhereStateIsKept) {
  // Gradients of ones: their sums over 4 replicas are 4 in all rows for which a rank keeps state.
  RunConfig config = run_config({muon("w", {13, 8}), adam("t", {10, 4})}, {2, 1});
  config.parallelism.dp = 4;
  config.parallelism.pad_for_alignment = 1;  // rows for every rank
  for (ParamConfig& param : *config.model.params) param.gradient = "ones";
  const auto run = resolve(config);
  expect_no_errors(run_as_threads(run->grid, [&](RankContext& context) {
    for (const char* mode : kAllModes) {
      Bound bound(mode, *run, context);
      BeforeStep before(bound.program, bound.executor, context.device, context.comms.table());
      bound.state.load_gradients(bound.values, 0);
      EXPECT_GT(before.run(), 0.0);
      std::map<ParamIndex, std::vector<float>> sums;
      for (const MasterRows& rows : bound.state.read(StateKind::kGradient)) sums[rows.param] = rows.values;
      for (const KeptState& kept : bound.program.kept) {
        for (std::int64_t i = kept.rows.begin * kept.cols; i < kept.rows.end() * kept.cols; ++i)
          ASSERT_EQ(sums.at(kept.param).at(static_cast<std::size_t>(i)), 4.0F)
              << mode << ", parameter " << kept.param.value() << ", rank " << context.rank.value();
      }
    }
  }));
}

TEST(LoopbackStep, BitsStayAsTheyAreWhereGradientsAreReducedBeforeEachStep) {
  RunConfig config = run_config(mixed_params(), {2, 2});
  const std::vector<std::string> modes(std::begin(kAllModes), std::end(kAllModes));
  const std::vector<Outcome> alone = outcomes(config, modes);
  config.parallelism.dp = 2;
  config.run.timing = Timing::kPhases;
  const std::vector<Outcome> reduced = outcomes(config, modes);
  for (std::size_t m = 0; m < modes.size(); ++m) {
    expect_sound(reduced[m]);
    EXPECT_EQ(unequal(reduced[m], alone[m], resolve(config)->params), std::vector<std::string>()) << modes[m];
  }
}

/// Says that one byte more was sent than really was.
class MiscountingComm final : public Comm {
 public:
  explicit MiscountingComm(std::unique_ptr<Comm> comm) : comm_(std::move(comm)) {}
  [[nodiscard]] int size() const override { return comm_->size(); }
  [[nodiscard]] int rank() const override { return comm_->rank(); }
  [[nodiscard]] TrafficCounters counters() const override {
    TrafficCounters counters = comm_->counters();
    if (counters.collectives > 0) counters.sent += Bytes(1);
    return counters;
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllToAll work) override {
    return comm_->prepare(std::move(work));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllGather work) override {
    return comm_->prepare(std::move(work));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllReduce work) override {
    return comm_->prepare(std::move(work));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundReduceScatter work) override {
    return comm_->prepare(std::move(work));
  }

 private:
  std::unique_ptr<Comm> comm_;
};

TEST(LoopbackStep, ARunWhoseTrafficIsNotTheProgramsFails) {
  const auto run = resolve(run_config({muon("w", {24, 16}, 0)}, {2, 2}));
  const auto errors = run_as_threads(
      run->grid,
      [&](RankContext& context) { static_cast<void>(run_on_all_ranks("layer_sharded", *run, context)); },
      [](std::unique_ptr<Comm> comm, Device&) { return std::make_unique<MiscountingComm>(std::move(comm)); });
  for (const std::string& error : errors)
    EXPECT_NE(error.find("B sent in 5 steps"), std::string::npos) << error;
}

TEST(LoopbackStep, AProgramThatSendsOtherSizesThanItsPeersExpectIsStoppedNotHung) {
  const auto run = resolve(run_config({muon("w", {24, 16}, 0), muon("v", {24, 8}, 1)}, {4, 1}));
  const auto errors = run_as_threads(run->grid, [&](RankContext& context) {
    StepProgram program = build_program(mode_named("layer_sharded"), run->inputs, context.rank);
    for (Op& op : program.ops) {
      auto* exchange = std::get_if<AllToAllOp>(&op.work);
      if (exchange == nullptr || context.rank != WorldRank(3)) continue;
      for (std::size_t peer = 0; peer < 3; ++peer)
        if (exchange->sends[peer].size > Elements(0)) exchange->sends[peer].size -= Elements(1);
    }
    Executor executor(program, context.device, context.comms.table());
    RankState state(program, run->inputs, context.rank, context.device, executor);
    const GeneratedValues values(run->params, 1, {});
    state.initialise(values);
    state.load_gradients(values, 0);
    static_cast<void>(executor.run_step(StepContext{0}, PhaseTiming::kOff));
  });
  for (const std::string& error : errors) EXPECT_NE(error, "");
  EXPECT_TRUE(std::any_of(errors.begin(), errors.end(), [](const std::string& error) {
    return error.find("from rank 3, which sends") != std::string::npos;
  }));
}

}  // namespace
}  // namespace muonbench
