// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/ns/schedule.h"

namespace muonbench {
namespace {

/// The matrices that one rank runs NS on, in order.
std::vector<Shape> ns_shapes(const StepProgram& program) {
  std::vector<Shape> shapes;
  for (const Op& op : program.ops)
    if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work))
      shapes.insert(shapes.end(), ns->items.size(), ns->matrix);
  return shapes;
}

TEST(Blockwise, MakesNoCollectiveButTheGatherOfAdamsParameters) {
  for (const DomainShape domain : all_domains()) {
    const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp));
    const auto counts = model.counts("blockwise"), adam_counts = model.counts("adam_dim0");
    for (const StepProgram& program : model.programs("blockwise"))
      for (const Op& op : program.ops)
        EXPECT_TRUE(!group_of(op) || op.phase == Phase::kParamGather) << name_of(op.phase);
    std::vector<Parameter> muon_alone = mixed_params();
    std::erase_if(muon_alone, [](const Parameter& p) { return p.optimizer == OptimizerKind::kAdam; });
    const TestModel without_adam(muon_alone, domain_grid(domain.gtp_remat, domain.tp));
    for (const StepCounts& counted : without_adam.counts("blockwise")) {
      EXPECT_EQ(counted.collectives, 0);
      EXPECT_EQ(counted.sent, Bytes(0));
      EXPECT_EQ(counted.received, Bytes(0));
    }
    for (const StepProgram& program : without_adam.programs("blockwise"))
      EXPECT_EQ(ledger_of(program).of(MemoryUse::kExchange), Bytes(0));
  }
}

TEST(Blockwise, RunsNewtonSchulzOnTheTrueRowsOfEachShard) {
  // Aligned to 16 rows: 40 rows are 16 + 16 + 8 (+ 8 pads) and a shard of pads alone.
  const TestModel model({muon("rows", {40, 6}), muon("cols", {40, 6}, 1), muon("both", {40, 6}, 0),
                         untagged(muon("whole", {7, 5}))},
                        domain_grid(4, 2));
  const auto programs = model.programs("blockwise");
  for (std::size_t g = 0; g < 4; ++g) {
    for (std::size_t t = 0; t < 2; ++t) {
      std::vector<Shape> expected = {{7, 5}};
      if (g < 3) expected.push_back({g < 2 ? 16 : 8, 6});
      if (g < 3) expected.push_back({g < 2 ? 16 : 8, 3});
      if (g < 2) expected.push_back({g == 0 ? 16 : 4, 6});  // 20 rows a TP rank
      const std::vector<Shape> found = ns_shapes(programs[2 * g + t]);
      EXPECT_TRUE(std::is_permutation(found.begin(), found.end(), expected.begin(), expected.end()))
          << g << ", " << t;
    }
  }
}

TEST(Blockwise, CountsTheWorkOfTheShards) {
  const TestModel model({muon("w", {64, 24})}, domain_grid(4, 1));
  for (const StepCounts& counts : model.counts("blockwise")) {
    EXPECT_EQ(counts.ns_calls, 1);
    EXPECT_EQ(counts.ns_cost, 24 * 16 * 16);
    EXPECT_EQ(counts.ns_flops, 5 * (4 * 16 * 16 * 24 + 2 * 16 * 16 * 16));
  }
}

TEST(Blockwise, NeedsTheScratchOfOneBatchAtATime) {
  const std::vector<Parameter> params = {muon("a", {64, 24}), muon("b", {64, 24}), muon("c", {64, 24})};
  const auto bytes = [&](int batch_size) {
    const TestModel model(params, domain_grid(4, 1), {.ns_batch_size = batch_size});
    return ledger_of(model.programs("blockwise").front()).of(MemoryUse::kNsScratch).value();
  };
  // An fp32 shard of 16 x 24 and, after it, the scratch of one NS, which serves all matrices of a batch in
  // turn.
  const std::int64_t scratch = 4 * ns_scratch_elements({{16, 24}, 1}, NsOptions{}).value();
  EXPECT_EQ(bytes(1), 4 * 16 * 24 + scratch);
  EXPECT_EQ(bytes(2), 2 * 4 * 16 * 24 + scratch);
  EXPECT_EQ(bytes(9), 3 * 4 * 16 * 24 + scratch);
}

TEST(Blockwise, BatchesReplicatedWeightsAlikeOnAllRanks) {
  // Rank (0, 0) has shards of the replicated weight's shape, rank (1, 0) has none: a common batch would be
  // cut otherwise there.
  const TestModel model({muon("a", {20, 6}), untagged(muon("r", {16, 6})), untagged(muon("s", {16, 6}))},
                        domain_grid(2, 1), {.ns_batch_size = 2});
  for (const StepProgram& program : model.programs("blockwise")) {
    for (const Op& op : program.ops) {
      const auto* ns = std::get_if<NewtonSchulzOp>(&op.work);
      if (ns == nullptr || op.phase != Phase::kNsReplicated) continue;
      EXPECT_EQ(ns->items.size(), 2U);
    }
  }
}

}  // namespace
}  // namespace muonbench
