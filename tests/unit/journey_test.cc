// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// One weight's way through a step, number by number: (1000, 512), column-parallel, on GTP_remat 4 x TP 2, at
// home on (g = 2, t = 1), as src/README.md tells it.
#include <cmath>
#include <map>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/ns/schedule.h"

namespace muonbench {
namespace {

constexpr std::int64_t kShardBytes = 262144, kTpLocalBytes = 1024000, kFullBytes = 2048000;
constexpr std::size_t kHome = 5, kPeer = 4;  // world rank = 2 g + t: (2, 1) and (2, 0)

class Journey : public testing::Test {
 protected:
  TestModel model{{muon("layers.3.ffn.up", {1000, 512}, 0)},
                  domain_grid(4, 2),
                  {.homes = [](const std::vector<HomeCandidate>&, DomainShape) {
                    return std::vector<std::optional<Home>>{Home{GtpRank(2), TpRank(1)}};
                  }}};
  std::vector<StepProgram> programs = model.programs("layer_sharded");
};

/// Bytes that each rank sends to each other one, by phase.
std::map<std::pair<std::size_t, std::size_t>, std::int64_t> wire(const TestModel& model,
                                                                 const std::vector<StepProgram>& programs,
                                                                 Phase phase) {
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> bytes;
  for (std::size_t r = 0; r < programs.size(); ++r) {
    for (const Op& op : programs[r].ops) {
      const auto* exchange = std::get_if<AllToAllOp>(&op.work);
      if (exchange == nullptr || op.phase != phase) continue;
      const auto members = model.grid().members(exchange->group, WorldRank(static_cast<int>(r)));
      for (std::size_t peer = 0; peer < members.size(); ++peer) {
        const auto to = static_cast<std::size_t>(members[peer].value());
        if (to != r && exchange->sends[peer].size > Elements(0))
          bytes[{r, to}] += 4 * exchange->sends[peer].size.value();
      }
    }
  }
  return bytes;
}
using Wires = std::map<std::pair<std::size_t, std::size_t>, std::int64_t>;

TEST_F(Journey, ShardsAre128RowsOf512AndTheLastHoldsTwelvePads) {
  const ParamShardSpec& spec = model.spec("layers.3.ffn.up");
  EXPECT_EQ(spec.sharding(), ParamSharding::kGtpRematAndTp);
  EXPECT_EQ(spec.tp_local_shape(), (Shape{500, 512}));
  EXPECT_EQ(spec.pad_length, 12);
  EXPECT_EQ(spec.shard_shape(), (Shape{128, 512}));
  EXPECT_EQ(bytes_of(spec.shard_elements(), DType::kFp32), Bytes(kShardBytes));
  for (const int t : {0, 1}) {
    for (const int g : {0, 1, 2}) {
      const ShardExtent extent = spec.extent({GtpRank(g), TpRank(t)});
      EXPECT_EQ(extent.rows, (Range{500 * t + 128 * g, 128}));
      EXPECT_EQ(extent.pad_rows, 0);
    }
    const ShardExtent last = spec.extent({GtpRank(3), TpRank(t)});
    EXPECT_EQ(last.rows, (Range{500 * t + 384, 116}));
    EXPECT_EQ(last.pad_rows, 12);
  }
}

TEST_F(Journey, CostFlopsAndScaleComeFromTheTrueFullShape) {
  const Shape full = model.spec("layers.3.ffn.up").full_shape;
  EXPECT_EQ(ns_cost(full), 262144000);
  EXPECT_EQ(ns_flops(full, model.inputs().ns), 6585057280);  // 5 (4 * 512^2 * 1000 + 2 * 512^3): 6.6 GFLOP
  EXPECT_EQ(scale_factor(ScaleMode::kSpectral, full), std::sqrt(1000.0F));
}

TEST_F(Journey, StageOneBringsAShardFromEachGToGTwoOfItsOwnColumn) {
  EXPECT_EQ(wire(model, programs, Phase::kStage1Forward), (Wires{{{0, 4}, kShardBytes},
                                                                 {{2, 4}, kShardBytes},
                                                                 {{6, 4}, kShardBytes},
                                                                 {{1, 5}, kShardBytes},
                                                                 {{3, 5}, kShardBytes},
                                                                 {{7, 5}, kShardBytes}}));
}

TEST_F(Journey, StageTwoBringsOneTpLocalMatrixHome) {
  EXPECT_EQ(wire(model, programs, Phase::kStage2Forward), (Wires{{{kPeer, kHome}, kTpLocalBytes}}));
}

TEST_F(Journey, TheWayBackIsTheWayThereTurnedRound) {
  for (const auto& [there, back] : {std::pair{Phase::kStage1Forward, Phase::kStage1Reverse},
                                    std::pair{Phase::kStage2Forward, Phase::kStage2Reverse}}) {
    Wires turned;
    for (const auto& [pair, bytes] : wire(model, programs, there)) turned[{pair.second, pair.first}] = bytes;
    EXPECT_EQ(wire(model, programs, back), turned);
  }
}

TEST_F(Journey, NsRunsOnceAtHomeOnTheFullMatrix) {
  for (std::size_t r = 0; r < programs.size(); ++r) {
    std::vector<Shape> matrices;
    for (const Op& op : programs[r].ops)
      if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work))
        matrices.insert(matrices.end(), ns->items.size(), ns->matrix);
    EXPECT_EQ(matrices, r == kHome ? std::vector<Shape>({{1000, 512}}) : std::vector<Shape>()) << r;
  }
}

TEST_F(Journey, TheFullMatrixAndItsGramScratchExistAtHomeAloneAndOnlyWithinTheStep) {
  for (std::size_t r = 0; r < programs.size(); ++r) {
    std::int64_t matrix = 0, scratch = 0;
    for (const BufferSpec& buffer : programs[r].buffers) {
      if (buffer.use != MemoryUse::kNsScratch) continue;
      EXPECT_FALSE(buffer.slot.has_value());
      (buffer.name == "ns_scratch" ? scratch : matrix) += buffer.bytes().value();
    }
    EXPECT_EQ(matrix, r == kHome ? kFullBytes : 0) << r;
    EXPECT_EQ(scratch, r == kHome ? 4 * (2 * 1000 * 512 + 2 * 512 * 512) : 0) << r;
  }
}

std::int64_t sent(const std::vector<StepCounts>& counts) {
  Bytes sum;
  for (const StepCounts& one : counts) sum += one.sent;
  return sum.value();
}

TEST_F(Journey, TheBillIsFiveMegabytesAgainstFourteen) {
  EXPECT_EQ(sent(model.counts("layer_sharded")), 2 * 2596864);
  EXPECT_EQ(2596864, 6 * kShardBytes + kTpLocalBytes);
  EXPECT_EQ(sent(model.counts("duplicated")), 8 * (3 * kShardBytes + kTpLocalBytes));
}

TEST_F(Journey, OtherKindsOfWeightsTravelByOtherStages) {
  const Shape shape{1000, 512};
  const auto phases = [&](const Parameter& param, GridShape grid) {
    const TestModel other({param}, grid);
    std::map<Phase, std::int64_t> used;
    for (const StepProgram& program : other.programs("layer_sharded"))
      for (const Op& op : program.ops) used[op.phase] += group_of(op) ? 1 : 0;
    std::erase_if(used, [](const auto& entry) { return entry.second == 0; });
    return used;
  };
  using Used = std::map<Phase, std::int64_t>;
  EXPECT_EQ(phases(untagged(muon("router", shape)), domain_grid(4, 2)), Used{});
  EXPECT_EQ(phases(muon("rows", shape), domain_grid(4, 2)),
            (Used{{Phase::kStage1Forward, 8}, {Phase::kStage1Reverse, 8}}));
  EXPECT_EQ(phases(muon("w", shape, 0), domain_grid(1, 8)),
            (Used{{Phase::kStage2Forward, 8}, {Phase::kStage2Reverse, 8}}));
}

}  // namespace
}  // namespace muonbench
