// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/exec/step_recorder.h"

#include <gtest/gtest.h>

namespace muonbench {
namespace {

Op local(Phase phase, int queue = 0) { return Op{phase, queue, {}, CopyOp{}}; }
Op collective(Phase phase, int queue = 0) { return Op{phase, queue, {}, AllToAllOp{}}; }

StepProgram program_of(std::vector<Op> ops) {
  StepProgram program;
  program.ops = std::move(ops);
  return program;
}

std::vector<WireBytes> no_wire(const StepProgram& program) {
  return std::vector<WireBytes>(program.ops.size());
}

TEST(PhaseSpans, ConsecutiveOpsOfOnePhaseAreOneSpan) {
  const StepProgram program = program_of({local(Phase::kMomentum), collective(Phase::kStage1Forward),
                                          local(Phase::kStage1Forward), local(Phase::kNs)});
  std::vector<WireBytes> wire = no_wire(program);
  wire[1] = {Bytes(64), Bytes(32)};
  const auto spans = phase_spans(program, {{0, 1}, {1, 3}, {3, 4}, {5, 6}}, wire);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[1].phase, Phase::kStage1Forward);
  EXPECT_EQ(spans[1].begin, 1.0);
  EXPECT_EQ(spans[1].end, 4.0);
  EXPECT_EQ(spans[1].ops, 2);
  EXPECT_EQ(spans[1].collectives, 1);
  EXPECT_EQ(spans[1].sent, Bytes(64));
  EXPECT_EQ(spans[1].received, Bytes(32));
  EXPECT_EQ(spans[2].begin, 5.0);
  EXPECT_EQ(spans[2].collectives, 0);
}

TEST(PhaseSpans, EachQueueHasItsOwn) {
  const StepProgram program = program_of(
      {local(Phase::kNs, 0), local(Phase::kNs, 1), local(Phase::kNs, 0), local(Phase::kUpdate, 1)});
  const auto spans = phase_spans(program, {{0, 1}, {0, 2}, {1, 3}, {2, 4}}, no_wire(program));
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].queue, 0);
  EXPECT_EQ(spans[0].end, 3.0);
  EXPECT_EQ(spans[0].ops, 2);
  EXPECT_EQ(spans[1].queue, 1);
  EXPECT_EQ(spans[1].end, 2.0);
}

TEST(PhaseSpans, ACollectiveUnderWayDoesNotOverlapWithWhatTheQueueDoesNext) {
  const StepProgram program =
      program_of({collective(Phase::kParamGather), local(Phase::kAdam), local(Phase::kUpdate)});
  const auto spans = phase_spans(program, {{0, 9}, {2, 3}, {3, 4}}, no_wire(program));
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].end, 2.0);
  EXPECT_EQ(spans[0].complete, 9.0);
  EXPECT_EQ(spans[1].begin, 2.0);
  EXPECT_EQ(spans[1].complete, 3.0);
}

TEST(PhaseSpans, AStepOfNothingHasNone) { EXPECT_TRUE(phase_spans(StepProgram{}, {}, {}).empty()); }

}  // namespace
}  // namespace muonbench
