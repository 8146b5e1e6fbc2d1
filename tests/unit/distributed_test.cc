// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Modes distributed and auto: what they add up, move, compute and hold, in closed form.
#include <algorithm>
#include <string>

#include "tests/support/program_walk.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/base/even_part.h"
#include "src/plan/distribution.h"

namespace muonbench {
namespace {

constexpr std::int64_t kSteps = 5;

/// An all_reduce of `n` elements over `ranks`: parts sent to be added up, and sums sent back.
std::int64_t reduced(std::int64_t n, int ranks, int me) {
  const std::int64_t part = even_part(n, ranks, me);
  return n - part + (ranks - 1) * part;
}

/// Bytes that NS of one weight sends: norms in fp32, Gram matrices of `side` in bf16.
std::int64_t ns_bytes(std::int64_t side, int ranks, int me) {
  return 4 * reduced(1, ranks, me) + 2 * kSteps * reduced(side * side, ranks, me);
}

std::vector<NsSliceOp> parts_of(const StepProgram& program, NsPart part) {
  std::vector<NsSliceOp> found;
  for (const Op& op : program.ops)
    if (const auto* ns = std::get_if<NsSliceOp>(&op.work); ns != nullptr && ns->part == part)
      found.push_back(*ns);
  return found;
}

TEST(Distributed, AddsUpOneNormAndOneGramMatrixAStepOverTheAxisThatSplitsAWeight) {
  struct Row {
    Parameter param;
    DomainShape domain;
    int ranks;          // of the axis that adds up
    std::int64_t side;  // of Gram matrices
    int gathered;       // ranks of the axis that is gathered, or 1
    bool by_g;          // whether the axis that adds up is gtp_remat
  };
  const std::vector<Row> rows = {
      {muon("w", {64, 24}), {4, 1}, 4, 24, 1, true},     {muon("w", {64, 24}), {4, 2}, 4, 24, 1, true},
      {muon("w", {64, 24}, 0), {1, 4}, 4, 24, 1, false}, {muon("w", {64, 24}, 1), {1, 4}, 4, 64, 1, false},
      {muon("w", {64, 24}, 0), {4, 2}, 4, 24, 2, true},  {muon("w", {64, 24}, 1), {4, 2}, 4, 24, 2, true},
      {muon("w", {64, 24}, 0), {2, 2}, 2, 24, 2, true},  {muon("w", {64, 24}, 0), {2, 4}, 4, 24, 2, false},
      {muon("w", {64, 24}, 1), {2, 4}, 4, 64, 2, false},
  };
  for (const Row& row : rows) {
    const TestModel model({row.param}, domain_grid(row.domain.gtp_remat, row.domain.tp),
                          {.pad_for_alignment = 1});
    const auto counts = model.counts("distributed");
    for (std::size_t r = 0; r < counts.size(); ++r) {
      const DomainPlace place =
          model.grid().coordinates(Family::kDense, WorldRank(static_cast<int>(r))).place;
      const int me = row.by_g ? place.g.value() : place.t.value();
      const std::int64_t shard = 4 * 64 * 24 / (row.gathered * row.ranks);
      EXPECT_EQ(counts[r].collectives, 1 + kSteps + (row.gathered > 1 ? 1 : 0)) << row.domain.tp;
      EXPECT_EQ(counts[r].sent.value(), ns_bytes(row.side, row.ranks, me) + (row.gathered - 1) * shard);
      EXPECT_EQ(counts[r].received, counts[r].sent);
      // Nothing but the gather brings shards to where NS runs.
      EXPECT_EQ(counts[r].exchange_wire.value(), (row.gathered - 1) * shard);
      EXPECT_EQ(counts[r].ns_calls, 1);
      const std::int64_t length = 64 * 24 / row.side / row.ranks, m = row.side;
      EXPECT_EQ(counts[r].ns_cost, m * m * length);
      EXPECT_EQ(counts[r].ns_flops, kSteps * (4 * m * m * length + 2 * m * m * m));
    }
  }
}

TEST(Distributed, GramMatricesTravelInFp32UnlessPrecisionIsMedium) {
  const TestModel model({muon("w", {64, 24})}, domain_grid(4, 1));
  StepInputs inputs = model.inputs();
  inputs.ns.precision = MatmulPrecision::kHighest;
  const StepProgram program = build_program(mode_named("distributed"), inputs, WorldRank(1));
  EXPECT_EQ(count_step(program, model.grid(), WorldRank(1)).sent.value(),
            4 * (reduced(1, 4, 1) + kSteps * reduced(24 * 24, 4, 1)));
  for (const Op& op : program.ops) EXPECT_FALSE(std::holds_alternative<CopyOp>(op.work));
  // A device that keeps bf16 as such adds up Gram matrices where they lie, too.
  inputs.ns.precision = MatmulPrecision::kMedium;
  inputs.ns.storage = DType::kBf16;
  const StepProgram on_gpu = build_program(mode_named("distributed"), inputs, WorldRank(1));
  EXPECT_EQ(count_step(on_gpu, model.grid(), WorldRank(1)).sent.value(), ns_bytes(24, 4, 1));
  for (const Op& op : on_gpu.ops) EXPECT_FALSE(std::holds_alternative<CopyOp>(op.work));
}

TEST(Distributed, LeavesPadsOutAndScalesByTheTrueShape) {
  // Aligned to 16 rows: 40 rows are 16 + 16 + 8 (+ 8 pads) and a shard of pads alone.
  const TestModel model({muon("w", {40, 6})}, domain_grid(4, 1));
  const auto programs = model.programs("distributed");
  for (std::size_t g = 0; g < 4; ++g) {
    const auto out = parts_of(programs[g], NsPart::kScaleOut);
    ASSERT_EQ(out.size(), g < 3 ? 1U : 0U);
    const StepCounts counts = count_step(programs[g], model.grid(), WorldRank(static_cast<int>(g)));
    EXPECT_EQ(counts.collectives, 1 + kSteps);
    EXPECT_EQ(counts.ns_calls, g < 3 ? 1 : 0);
    if (g == 3) {
      EXPECT_EQ(counts.ns_flops, 0);
      continue;
    }
    EXPECT_EQ(out.front().slice.shape, (Shape{g < 2 ? 16 : 8, 6}));
    EXPECT_EQ(out.front().matrix, (Shape{40, 6}));
  }
}

TEST(Distributed, HoldsItsSliceAndTwoSquaresAtATime) {
  const std::vector<Parameter> params = {muon("a", {64, 24}), muon("b", {64, 24}), muon("c", {64, 24})};
  const auto bytes = [&](int batch_size, DType storage) {
    const TestModel model(params, domain_grid(4, 1), {.ns_batch_size = batch_size});
    StepInputs inputs = model.inputs();
    inputs.ns.storage = storage;
    const MemoryLedger ledger = ledger_of(build_program(mode_named("distributed"), inputs, WorldRank(0)));
    EXPECT_EQ(ledger.of(MemoryUse::kExchange), Bytes(0));
    return ledger.of(MemoryUse::kNsScratch).value();
  };
  // An fp32 shard of 16 x 24; X and its successor, A and B, each a multiple of 64 elements; a norm.
  const std::int64_t shard = 4 * 16 * 24, scratch = 2 * 16 * 24 + 2 * 24 * 24;
  EXPECT_EQ(bytes(1, DType::kBf16), shard + 2 * scratch + 4);
  EXPECT_EQ(bytes(2, DType::kBf16), 2 * shard + 2 * 2 * scratch + 2 * 4);
  // In fp32 storage Gram matrices are copied to travel, to where the norm was.
  EXPECT_EQ(bytes(1, DType::kFp32), shard + 4 * scratch + 2 * 24 * 24);
}

TEST(Distributed, AddsUpBatchesTogether) {
  const std::vector<Parameter> params = {muon("a", {64, 24}), muon("b", {64, 24}), muon("x", {128, 24}),
                                         muon("c", {64, 24})};
  for (const int batch : {1, 2, 3}) {
    const TestModel model(params, domain_grid(4, 1), {.ns_batch_size = batch});
    const std::int64_t batches = (3 + batch - 1) / batch + 1;
    for (const StepCounts& counts : model.counts("distributed")) {
      EXPECT_EQ(counts.collectives, batches * (1 + kSteps));
      EXPECT_EQ(counts.ns_calls, 4);
    }
  }
}

TEST(Distributed, PiecesOfFusedWeightsAreAddedUpApartByRanksWithoutARowOfThemToo) {
  // Groups of 24 + 12 + 12 rows over shards of 16: q lies on ranks 0 and 1, k on 1 and 2, v on 2.
  const TestModel model({fused(muon("w", {48, 16}), {24, 12, 12})}, domain_grid(4, 1));
  const auto programs = model.programs("distributed");
  const std::vector<std::vector<Shape>> slices = {{{16, 16}}, {{8, 16}, {8, 16}}, {{4, 16}, {12, 16}}, {}};
  for (std::size_t g = 0; g < 4; ++g) {
    const StepCounts counts = count_step(programs[g], model.grid(), WorldRank(static_cast<int>(g)));
    EXPECT_EQ(counts.collectives, 3 * (1 + kSteps));
    std::vector<Shape> found;
    for (const NsSliceOp& op : parts_of(programs[g], NsPart::kScaleOut)) {
      found.push_back(op.slice.shape);
      EXPECT_TRUE(op.matrix == (Shape{24, 16}) || op.matrix == (Shape{12, 16}));
    }
    EXPECT_EQ(found, slices[g]) << g;
  }
}

TEST(Distributed, ReplicatedWeightsRunWholeAndApart) {
  const TestModel model({untagged(muon("r", {20, 12})), untagged(muon("s", {20, 12}))}, domain_grid(2, 2),
                        {.ns_batch_size = 2});
  for (const StepProgram& program : model.programs("distributed")) {
    EXPECT_EQ(count_step(program, model.grid(), WorldRank(0)).collectives, 0);
    for (const Op& op : program.ops)
      if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work)) {
        EXPECT_EQ(op.phase, Phase::kNsReplicated);
        EXPECT_EQ(ns->items.size(), 2U);
      }
  }
}

TEST(Distributed, RunsOnEveryDomainOfExpertsToo) {
  // Two ep ranks of two expert_gtp_remat x two expert_tp each.
  const GridShape shape{2, 4, 1, 1, 2, 2, 2};
  const TestModel model(
      {expert(muon("e0", {40, 12}, 0)), expert(muon("e1", {40, 12}, 1)), muon("d", {40, 12})}, shape,
      {.pad_for_alignment = 1});
  ProgramWalk walk(model, model.programs("distributed"));
  ASSERT_NO_THROW(walk.run());
  ASSERT_NO_THROW(walk.check_weights());
}

/// Applies `change` to the first rank's ops and walks.
template <class Change>
void walk_changed(Change change) {
  const TestModel model({muon("w", {20, 6}, 0)}, domain_grid(2, 2), {.pad_for_alignment = 1});
  std::vector<StepProgram> programs = model.programs("distributed");
  for (StepProgram& program : programs) change(program);
  ProgramWalk walk(model, std::move(programs));
  walk.run();
  walk.check_weights();
}

TEST(ProgramWalk, SeesSumsThatAreLeftOutAndScalesOfAnotherShape) {
  EXPECT_NO_THROW(walk_changed([](StepProgram&) {}));
  for (const std::size_t left_out : {std::size_t{0}, std::size_t{3}})
    EXPECT_THROW(walk_changed([&](StepProgram& program) {
                   std::size_t seen = 0;
                   std::erase_if(program.ops, [&](const Op& op) {
                     return std::holds_alternative<AllReduceOp>(op.work) && seen++ == left_out;
                   });
                 }),
                 WalkError);
  EXPECT_THROW(walk_changed([](StepProgram& program) {
                 for (Op& op : program.ops)
                   if (auto* ns = std::get_if<NsSliceOp>(&op.work)) ns->matrix.rows += 4;
               }),
               WalkError);
}

// ---- auto

RunsAs decision(const Parameter& param, DomainShape domain, NsAlgorithm algorithm = NsAlgorithm::kGemm) {
  const TestModel model({param}, domain_grid(domain.gtp_remat, domain.tp));
  StepInputs inputs = model.inputs();
  inputs.ns.algorithm = algorithm;
  return cheaper_way(inputs.specs.front(), inputs.splits.front(), family_of(param), inputs.ns);
}

TEST(Auto, TakesTheWayOfFewerOperations) {
  EXPECT_EQ(decision(muon("w", {8192, 1024}), {8, 1}), RunsAs::kDistributed);
  EXPECT_EQ(decision(muon("w", {1024, 8192}), {8, 1}), RunsAs::kDuplicated);
  EXPECT_EQ(decision(muon("w", {640, 1024}), {8, 1}), RunsAs::kDuplicated);
  EXPECT_EQ(decision(muon("w", {640, 1024}), {8, 1}, NsAlgorithm::kSyrk), RunsAs::kDistributed);
}

TEST(Auto, DuplicatesWhatIsNotADenseWeightSplitOverGtpRemat) {
  const Parameter tall = muon("w", {8192, 64});
  EXPECT_EQ(decision(tall, {8, 1}), RunsAs::kDistributed);
  EXPECT_EQ(decision(untagged(tall), {8, 1}), RunsAs::kDuplicated);
  EXPECT_EQ(decision(muon("w", {8192, 64}, 0), {1, 8}), RunsAs::kDuplicated);
  const TestModel model({expert(tall)}, GridShape{1, 8, 1, 1, 1, 1, 8});
  EXPECT_EQ(
      cheaper_way(model.inputs().specs[0], model.inputs().splits[0], Family::kExpert, model.inputs().ns),
      RunsAs::kDuplicated);
}

TEST(Auto, DuplicatesWhereBothCostTheSame) {
  // With c == 0 nothing is squared: duplicated takes 4 m^2 M, distributed 4 n^2 m / G, equal for m n at G = n
  // / m.
  const TestModel model({muon("w", {16, 64})}, domain_grid(4, 1));
  StepInputs inputs = model.inputs();
  inputs.ns.steps.assign(5, {1.5, -0.5, 0.0});
  const auto decide = [&] {
    return cheaper_way(inputs.specs.front(), inputs.splits.front(), Family::kDense, inputs.ns);
  };
  EXPECT_EQ(decide(), RunsAs::kDuplicated);
  inputs.specs.front().full_shape.cols -= 1;
  EXPECT_EQ(decide(), RunsAs::kDistributed);
}

TEST(Auto, RunsEachWeightAsDecided) {
  const TestModel model({muon("tall", {512, 16}), muon("wide", {64, 256})}, domain_grid(4, 1));
  for (const StepProgram& program : model.programs("auto")) {
    ASSERT_EQ(parts_of(program, NsPart::kScaleOut).size(), 1U);
    EXPECT_EQ(parts_of(program, NsPart::kScaleOut).front().matrix, (Shape{512, 16}));
    std::vector<Shape> whole;
    for (const Op& op : program.ops)
      if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work)) whole.push_back(ns->matrix);
    EXPECT_EQ(whole, (std::vector<Shape>{{64, 256}}));
  }
}

}  // namespace
}  // namespace muonbench
