// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/ns/schedule.h"

namespace muonbench {
namespace {

// 12 groups of 8 + 2 + 2 rows: pieces of 96, 24 and 24 rows.
const Parameter kFused = fused(muon("qkv", {144, 40}, 0), {8, 2, 2});
constexpr Shape kQ{96, 40}, kK{24, 40};

std::int64_t scratch(const StepProgram& program) {
  return ledger_of(program).of(MemoryUse::kNsScratch).value();
}
std::int64_t ns_scratch_bytes(Shape shape) {
  return 4 * ns_scratch_elements({shape, 1}, NsOptions{}).value();
}

TEST(SplitQkv, CountsThePiecesAsTheMatricesThatTheyAre) {
  const TestModel model({kFused}, domain_grid(2, 2));
  const NsOptions& ns = model.inputs().ns;
  std::int64_t calls = 0;
  for (const StepCounts& counts : model.counts("layer_sharded")) calls += counts.ns_calls;
  EXPECT_EQ(calls, 3);
  for (const StepCounts& counts : model.counts("duplicated")) {
    EXPECT_EQ(counts.ns_calls, 3);
    EXPECT_EQ(counts.ns_cost, 96 * 40 * 40 + 2 * 40 * 24 * 24);
    EXPECT_EQ(counts.ns_flops, ns_flops(kQ, ns) + 2 * ns_flops(kK, ns));
  }
}

TEST(SplitQkv, TravelsAsTheWholeWeightDoes) {
  const TestModel apart({kFused}, domain_grid(2, 2)),
      together({muon("qkv", {144, 40}, 0)}, domain_grid(2, 2));
  for (const char* mode : {"layer_sharded", "duplicated", "blockwise"}) {
    const auto a = apart.counts(mode), b = together.counts(mode);
    for (std::size_t r = 0; r < a.size(); ++r) {
      EXPECT_EQ(a[r].collectives, b[r].collectives) << mode;
      EXPECT_EQ(a[r].sent, b[r].sent) << mode;
      EXPECT_EQ(a[r].received, b[r].received) << mode;
    }
  }
}

TEST(SplitQkv, NeedsRoomForThePiecesOfOneBatchAndForTheLargestPiecesNewtonSchulz) {
  // Nothing is split, so that NS runs in the momentum pass's output, on one rank.
  const auto bytes = [](std::vector<Parameter> params, int batch_size) {
    return scratch(TestModel(std::move(params), domain_grid(1, 1), {.ns_batch_size = batch_size})
                       .programs("layer_sharded")
                       .at(0));
  };
  const std::int64_t matrix = 4 * 144 * 40;
  EXPECT_EQ(bytes({kFused}, 1), 2 * matrix + ns_scratch_bytes(kQ));
  Parameter second = kFused;
  second.name = "second";
  // Both matrices, and the pieces of as many as go together.
  EXPECT_EQ(bytes({kFused, second}, 1), 3 * matrix + ns_scratch_bytes(kQ));
  EXPECT_EQ(bytes({kFused, second}, 2), 4 * matrix + ns_scratch_bytes(kQ));
  EXPECT_EQ(bytes({muon("w", {144, 40}, 0)}, 1), matrix + ns_scratch_bytes({144, 40}));
}

TEST(SplitQkv, BatchesEqualPiecesOfEqualWeights) {
  Parameter second = kFused, third = kFused;
  second.name = "second";
  third.name = "third";
  const TestModel model({kFused, second, muon("w", {24, 40}), third}, domain_grid(1, 1),
                        {.ns_batch_size = 2});
  const StepProgram program = model.programs("duplicated").at(0),
                    sharded = model.programs("layer_sharded").at(0);
  const auto sizes = [](const StepProgram& one) {
    std::vector<std::pair<Shape, std::size_t>> found;
    for (const Op& op : one.ops)
      if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work))
        found.emplace_back(ns->matrix, ns->items.size());
    return found;
  };
  using Sizes = std::vector<std::pair<Shape, std::size_t>>;
  // q and q, then k and v of the first, k and v of the second; the third alone.
  EXPECT_EQ(sizes(sharded), (Sizes{{kQ, 2}, {kK, 2}, {kK, 2}, {kQ, 1}, {kK, 2}, {kK, 1}}));
  for (const auto& [shape, count] : sizes(program)) EXPECT_EQ(count, 1U) << "duplicated goes one by one";
}

TEST(SplitQkv, IsOfTheShardsOwnRowsInBlockwise) {
  // 24 rows a rank of groups of 16: rank 0 has q q q q ... of one group and a half.
  const TestModel model({fused(muon("qkv", {48, 6}), {8, 4, 4})}, domain_grid(2, 1),
                        {.pad_for_alignment = 1});
  const auto shapes = [&](std::size_t rank) {
    std::vector<Shape> found;
    const std::vector<StepProgram> programs = model.programs("blockwise");
    for (const Op& op : programs.at(rank).ops)
      if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work)) found.push_back(ns->matrix);
    return found;
  };
  EXPECT_EQ(shapes(0), (std::vector<Shape>{{16, 6}, {4, 6}, {4, 6}}));
  EXPECT_EQ(shapes(1), (std::vector<Shape>{{8, 6}, {8, 6}, {8, 6}}));
}

}  // namespace
}  // namespace muonbench
