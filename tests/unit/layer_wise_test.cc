// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/bench/rank_classes.h"
#include "src/bench/rank_costs.h"
#include "src/bench/verify.h"

namespace muonbench {
namespace {

std::vector<std::int64_t> state_bytes(const TestModel& model, std::string_view mode) {
  std::vector<std::int64_t> bytes;
  for (const StepProgram& program : model.programs(mode)) bytes.push_back(ledger_of(program).state().value());
  return bytes;
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::vector<Parameter> many(const std::string& name, int count, Shape shape) {
  std::vector<Parameter> params;
  for (int i = 0; i < count; ++i) params.push_back(muon(name + std::to_string(i), shape));
  return params;
}

/// Two Adam giants and Muon matrices.
std::vector<Parameter> with_giants(Shape giant, int matrices, Shape matrix) {
  std::vector<Parameter> params = {adam("embed", giant), adam("output", giant)};
  for (Parameter& param : many("w", matrices, matrix)) params.push_back(std::move(param));
  return params;
}

TEST(LayerWise, StateOfATableModelIsSixToOneByNumelAndThirteenToOneInTurn) {
  const std::vector<Parameter> params = with_giants({1024, 64}, 8, {64, 64});
  const auto sorted = [&](OwnerPolicy policy) {
    auto bytes = state_bytes(TestModel(params, domain_grid(1, 1, 4), {.owners = policy}), "layer_wise");
    EXPECT_EQ(sum(bytes), 2 * 65536 * 12 + 8 * 4096 * 8);
    std::sort(bytes.rbegin(), bytes.rend());
    return bytes;
  };
  EXPECT_EQ(sorted(OwnerPolicy::kLptNumel), (std::vector<std::int64_t>{786432, 786432, 131072, 131072}));
  EXPECT_EQ(sorted(OwnerPolicy::kPingPong), (std::vector<std::int64_t>{851968, 851968, 65536, 65536}));
}

constexpr Shape kGiant{130000, 7168}, kMatrix{7168, 2048};

TEST(LayerWise, TwoGiantsAmongTenParamsTakeElevenGigabytesOfTwoRanksAndTheHybridHalvesThat) {
  const std::vector<Parameter> params = with_giants(kGiant, 8, kMatrix);
  const TestModel whole(params, domain_grid(1, 1, 4));
  EXPECT_EQ(state_bytes(whole, "layer_wise"),
            (std::vector<std::int64_t>{11416961024, 11416961024, 234881024, 234881024}));
  const TestModel hybrid(params, domain_grid(1, 1, 4), {.layer_wise_adam = LayerWiseAdam::kDim0});
  EXPECT_EQ(state_bytes(hybrid, "layer_wise"),
            std::vector<std::int64_t>(4, 2 * (11182080000 / 4) + 2 * 14680064 * 8));
}

TEST(LayerWise, BothGiantsOfNineParamsAreOnRank0) {
  const TestModel model(with_giants(kGiant, 7, kMatrix), domain_grid(1, 1, 4));
  const std::vector<std::int64_t> bytes = state_bytes(model, "layer_wise");
  EXPECT_EQ(bytes[0], 2 * 11182080000 + 14680064 * 8);
  EXPECT_EQ(*std::max_element(bytes.begin() + 1, bytes.end()), 2 * 14680064 * 8);
}

TEST(LayerWise, AnExactVocabularyTakesElevenGigabytesOfItsOwnerAndAnEighthInTheHybrid) {
  const std::vector<Parameter> params = {adam("embed", {129280, 7168})};
  const TestModel whole(params, domain_grid(1, 1, 8));
  EXPECT_EQ(state_bytes(whole, "layer_wise"), (std::vector<std::int64_t>{11120148480, 0, 0, 0, 0, 0, 0, 0}));
  const TestModel hybrid(params, domain_grid(1, 1, 8), {.layer_wise_adam = LayerWiseAdam::kDim0});
  EXPECT_EQ(state_bytes(hybrid, "layer_wise"), std::vector<std::int64_t>(8, 1390018560));
  const TestModel narrow(params, domain_grid(1, 1, 8), {.moment_dtype = DType::kBf16});
  EXPECT_EQ(state_bytes(narrow, "layer_wise")[0], 926679040LL * 8);
}

TEST(Bf16Moments, TakeHalfOfAdamsBytesInEveryMode) {
  for (const Mode& mode : modes()) {
    const TestModel wide(mixed_params(), domain_grid(2, 2, 2));
    const TestModel narrow(mixed_params(), domain_grid(2, 2, 2), {.moment_dtype = DType::kBf16});
    const auto in_fp32 = wide.programs(mode.name), in_bf16 = narrow.programs(mode.name);
    for (std::size_t r = 0; r < in_fp32.size(); ++r) {
      const MemoryLedger a = ledger_of(in_fp32[r]), b = ledger_of(in_bf16[r]);
      EXPECT_EQ(b.of(MemoryUse::kAdam) * 2, a.of(MemoryUse::kAdam)) << mode.name;
      EXPECT_EQ(b.of(MemoryUse::kMaster), a.of(MemoryUse::kMaster)) << mode.name;
      EXPECT_EQ(b.of(MemoryUse::kMomentum), a.of(MemoryUse::kMomentum)) << mode.name;
    }
  }
}

TEST(LayerWise, WithOneReplicaIsLayerShardedOpByOp) {
  for (const DomainShape domain : all_domains()) {
    const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp), {.pad_for_alignment = 3});
    const auto layer_wise = model.programs("layer_wise"), layer_sharded = model.programs("layer_sharded");
    for (std::size_t r = 0; r < layer_wise.size(); ++r) {
      ASSERT_EQ(layer_wise[r].ops.size(), layer_sharded[r].ops.size());
      for (std::size_t i = 0; i < layer_wise[r].ops.size(); ++i) {
        EXPECT_EQ(layer_wise[r].ops[i].phase, layer_sharded[r].ops[i].phase);
        EXPECT_EQ(layer_wise[r].ops[i].work.index(), layer_sharded[r].ops[i].work.index());
      }
      const WorldRank rank(static_cast<int>(r));
      const RankCosts a = costs_of(layer_wise[r], model.grid(), rank);
      const RankCosts b = costs_of(layer_sharded[r], model.grid(), rank);
      EXPECT_EQ(a.memory.state_bytes, b.memory.state_bytes);
      EXPECT_EQ(a.memory.peak_bytes, b.memory.peak_bytes);
      EXPECT_EQ(a.counts.sent, b.counts.sent);
      EXPECT_EQ(a.counts.ns_cost, b.counts.ns_cost);
    }
  }
}

TEST(LayerWise, StateOfAllRanksIsThatOfOneReplicaOfLayerSharded) {
  for (const DomainShape domain : all_domains()) {
    const TestModel one(mixed_params(), domain_grid(domain.gtp_remat, domain.tp));
    const std::int64_t expected = sum(state_bytes(one, "layer_sharded"));
    for (const int dp : {2, 3}) {
      for (const auto& [policy, name] : kOwnerPolicyNames) {
        for (const auto& [adam_way, way] : kLayerWiseAdamNames) {
          const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp, dp),
                                {.owners = policy, .layer_wise_adam = adam_way});
          EXPECT_EQ(sum(state_bytes(model, "layer_wise")), expected)
              << name << ", adam " << way << ", " << domain.gtp_remat << " x " << domain.tp << ", dp " << dp;
        }
      }
    }
  }
}

TEST(LayerWise, HybridsHeaviestRankHoldsAdamStateWithinOneRowPerParamOfTheMean) {
  constexpr std::int64_t kPad = 4;
  for (const DomainShape domain : all_domains()) {
    for (const int dp : {2, 3}) {
      const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp, dp),
                            {.pad_for_alignment = kPad, .layer_wise_adam = LayerWiseAdam::kDim0});
      std::vector<std::int64_t> bytes;
      for (const StepProgram& program : model.programs("layer_wise"))
        bytes.push_back(ledger_of(program).of(MemoryUse::kAdam).value());
      std::int64_t slack = 0;
      for (std::size_t i = 0; i < model.params().params.size(); ++i) {
        const Parameter& param = model.params().params[i];
        if (param.optimizer != OptimizerKind::kAdam || !param.has_gradient()) continue;
        const ParamShardSpec& spec = model.inputs().specs[i];
        slack += 8 * spec.shard_shape().cols * (1 + (spec.gtp_sharded ? kPad : 0));
      }
      const double mean = static_cast<double>(sum(bytes)) / static_cast<double>(bytes.size());
      EXPECT_LE(static_cast<double>(*std::max_element(bytes.begin(), bytes.end())),
                mean + static_cast<double>(slack));
      EXPECT_GT(mean, 0.0);
    }
  }
}

TEST(LayerWise, GathersEachReplicasWeightsInOneCollectivePerGroup) {
  // By size 48, 64 and 80 elements to replicas 0, 1 and 1; then 96 to 0.
  const TestModel model({muon("a", {16, 4}), muon("b", {16, 6}), adam("t", {12, 4}), adam("u", {20, 4})},
                        domain_grid(1, 1, 2));
  const auto counts = model.counts("layer_wise");
  for (const StepCounts& one : counts) EXPECT_EQ(one.collectives, 1);
  EXPECT_EQ(counts[0].sent, Bytes(2 * (48 + 96)));
  EXPECT_EQ(counts[1].sent, Bytes(2 * (64 + 80)));
  EXPECT_EQ(counts[0].received, counts[1].sent);
}

TEST(LayerWise, GradientsOfAWholeParamGoToItsOwner) {
  const TestModel model({muon("w", {15, 4}), adam("t", {7, 4})}, domain_grid(1, 1, 3));
  // t (28 elements) belongs to replica 0, w (60) to 1.
  const auto programs = model.programs("layer_wise");
  const std::int64_t mine[] = {28, 60, 0};
  for (int r = 0; r < 3; ++r) {
    const StepCounts counts =
        count_before_step(programs[static_cast<std::size_t>(r)], model.grid(), WorldRank(r));
    EXPECT_EQ(counts.collectives, 1);
    EXPECT_EQ(counts.sent, Bytes(4 * (88 - mine[r])));
    EXPECT_EQ(counts.received, Bytes(4 * 2 * mine[r]));
  }
}

TEST(LayerWise, EachReplicaHasHomesOfItsOwn) {
  // Eight equal matrices over two replicas of four ranks: one home each, where layer_sharded has two.
  const TestModel model(many("w", 8, {32, 8}), domain_grid(4, 1, 2));
  for (const StepCounts& counts : model.counts("layer_wise")) EXPECT_EQ(counts.ns_calls, 1);
  for (const StepCounts& counts : model.counts("layer_sharded")) EXPECT_EQ(counts.ns_calls, 2);
}

TEST(LayerWise, AParamWithoutGradientHasAMasterAtItsOwnerAndNoMoments) {
  const TestModel model({without_gradient(muon("w", {16, 4})), without_gradient(adam("t", {7, 4}))},
                        domain_grid(1, 1, 2));
  EXPECT_EQ(state_bytes(model, "layer_wise"), (std::vector<std::int64_t>{4 * 28, 4 * 64}));
  for (const StepProgram& program : model.programs("layer_wise")) EXPECT_TRUE(program.ops.empty());
}

// ---- Modes that keep state by other rows are compared where they keep the same ones.

MasterRows master_rows(Range rows, std::vector<float> values) {
  return {ParamIndex(0), rows, Range{0, 2}, Counted::kHere, std::move(values)};
}

TEST(CompareMasters, LooksAtTheRowsThatARankKeepsInBothModes) {
  const std::vector<MasterRows> whole = {master_rows({0, 3}, {0, 1, 2, 3, 4, 5})};
  const std::vector<MasterRows> last = {master_rows({2, 2}, {4, 5, 6, 7})};
  const std::vector<MasterRows> none = {master_rows({3, 0}, {})};
  EXPECT_TRUE(compare_masters(whole, last).bit_identical);
  EXPECT_TRUE(compare_masters(last, whole).bit_identical);
  EXPECT_TRUE(compare_masters(whole, none).bit_identical);
  std::vector<MasterRows> changed = whole;
  changed.front().values[1] = 9;  // of a row that `last` does not keep
  EXPECT_TRUE(compare_masters(changed, last).bit_identical);
  changed.front().values[4] = 6;
  EXPECT_FALSE(compare_masters(changed, last).bit_identical);
  EXPECT_EQ(compare_masters(last, changed).max_abs_diff, 2.0);
}

// ---- A plan builds a program per class of ranks.

bool equal_costs(const RankCosts& a, const RankCosts& b) {
  const auto key = [](const RankCosts& c) {
    return std::tuple(c.memory.state_bytes, c.memory.peak_bytes, c.memory.exchange_bytes,
                      c.memory.ns_scratch_bytes, c.memory.pad_bytes, c.counts.collectives, c.counts.sent,
                      c.counts.received, c.counts.ns_calls, c.counts.ns_flops, c.counts.ns_cost);
  };
  return key(a) == key(b);
}

TEST(LayerWise, RanksOfAClassCostTheSame) {
  std::vector<Parameter> params = mixed_params();
  for (int i = 0; i < 4; ++i) {
    params.push_back(expert(muon("up." + std::to_string(i), {24, 10}, i % 2)));
    params.back().expert_set = "up";
    params.push_back(expert(untagged(adam("table." + std::to_string(i), {15, 4}))));
    params.back().expert_set = "table";
  }
  for (const GridShape& shape : {GridShape{.tp = 2, .gtp_remat = 2, .dp = 4, .ep = 2, .expert_gtp_remat = 2},
                                 GridShape{.tp = 1, .gtp_remat = 3, .dp = 4}, GridShape{.dp = 8, .ep = 4}}) {
    for (const auto& [adam_way, way] : kLayerWiseAdamNames) {
      const TestModel model(params, shape, {.pad_for_alignment = 2, .layer_wise_adam = adam_way});
      const auto programs = model.programs("layer_wise");
      std::size_t ranks = 0;
      for (const RankClass& one : rank_classes(model.inputs(), mode_named("layer_wise").costs)) {
        const auto costs = [&](WorldRank rank) {
          return costs_of(programs[static_cast<std::size_t>(rank.value())], model.grid(), rank);
        };
        for (const WorldRank rank : one.members)
          EXPECT_TRUE(equal_costs(costs(rank), costs(one.representative)))
              << rank.value() << " and " << one.representative.value();
        ranks += one.members.size();
      }
      EXPECT_EQ(ranks, programs.size());
    }
  }
}

TEST(LayerWise, ReplicasThatOwnAlikeAreOneClass) {
  const TestModel model(many("w", 16, {32, 8}), domain_grid(1, 1, 16));
  EXPECT_EQ(rank_classes(model.inputs(), mode_named("layer_wise").costs).size(), 1U);
  const TestModel uneven(many("w", 20, {32, 8}), domain_grid(1, 1, 16));
  EXPECT_EQ(rank_classes(uneven.inputs(), mode_named("layer_wise").costs).size(), 2U);
}

}  // namespace
}  // namespace muonbench
