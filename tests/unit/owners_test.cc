// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/owners.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

std::vector<OwnedCandidate> candidates(const std::vector<std::pair<std::int64_t, std::int64_t>>& list) {
  std::vector<OwnedCandidate> all;
  for (const auto& [size, cost] : list) all.push_back({Elements(size), cost});
  return all;
}

std::vector<OwnedCandidate> sizes(const std::vector<std::int64_t>& list) {
  std::vector<OwnedCandidate> all;
  for (const std::int64_t size : list) all.push_back({Elements(size), 0});
  return all;
}

std::vector<int> ascending_in_turn(int count, int replicas) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 1);
  return deal_to_owners(sizes(list), replicas, OwnerPolicy::kPingPong);
}

TEST(Owners, PingPongGoesForthAndBack) {
  EXPECT_EQ(ascending_in_turn(10, 4), (std::vector{0, 1, 2, 3, 3, 2, 1, 0, 0, 1}));
}

TEST(Owners, PingPongLandsTheTwoLargestByTheNumberOfParamsAlone) {
  struct Row {
    int count, second_largest, largest;
  };
  for (const Row& row : {Row{8, 1, 0}, Row{9, 0, 0}, Row{10, 0, 1}, Row{11, 1, 2}, Row{12, 2, 3},
                         Row{13, 3, 3}, Row{14, 3, 2}, Row{15, 2, 1}, Row{16, 1, 0}}) {
    const std::vector<int> owners = ascending_in_turn(row.count, 4);
    EXPECT_EQ(owners.at(owners.size() - 2), row.second_largest) << row.count;
    EXPECT_EQ(owners.back(), row.largest) << row.count;
  }
}

TEST(Owners, LptNumelGivesTheLargestFirstToTheLeastLoadedLowestOnTies) {
  // 9 to 0, 8 to 1, 7 to 2; 3 to 2 (10), 2 to 1 (10), 2 to 0 (11); then 1 to 1, the lower of two tens.
  EXPECT_EQ(deal_to_owners(sizes({2, 9, 1, 8, 7, 3, 2}), 3, OwnerPolicy::kLptNumel),
            (std::vector{1, 0, 1, 1, 2, 2, 0}));
}

TEST(Owners, LptNsCostBalancesCostWithinTheMemoryCap) {
  // 1.3 * 40 / 2 = 26 elements. By cost alone the second would join the third, the less loaded by far.
  const auto list = candidates({{20, 100}, {10, 60}, {10, 50}});
  EXPECT_EQ(deal_to_owners(list, 2, OwnerPolicy::kLptNsCost), (std::vector{0, 1, 1}));
  // Costs 100, 10 and 9: the third goes beside the second though both are cheap ...
  EXPECT_EQ(deal_to_owners(candidates({{10, 100}, {12, 10}, {8, 9}}), 2, OwnerPolicy::kLptNsCost),
            (std::vector{0, 1, 0}))
      << "12 + 8 are more than 1.3 * 30 / 2 = 19.5";
  EXPECT_EQ(deal_to_owners(candidates({{10, 100}, {11, 10}, {8, 9}}), 2, OwnerPolicy::kLptNsCost),
            (std::vector{0, 1, 0}))
      << "19 are more than 18.85";
  EXPECT_EQ(deal_to_owners(candidates({{12, 100}, {11, 10}, {8, 9}}), 2, OwnerPolicy::kLptNsCost),
            (std::vector{0, 1, 1}))
      << "19 are within 20.15";
}

TEST(Owners, LptNsCostPutsWhatFitsNowhereWhereThereIsMostRoom) {
  // The giant alone is more than 1.3 shares; what follows avoids it by its elements, though its cost is
  // least.
  EXPECT_EQ(deal_to_owners(candidates({{5, 30}, {100, 10}, {5, 9}, {5, 8}}), 2, OwnerPolicy::kLptNsCost),
            (std::vector{0, 1, 0, 0}));
}

TEST(Owners, OneReplicaOwnsEverything) {
  for (const auto& [policy, name] : kOwnerPolicyNames)
    EXPECT_EQ(deal_to_owners(sizes({3, 1, 2}), 1, policy), (std::vector{0, 0, 0})) << name;
  EXPECT_THROW(static_cast<void>(deal_to_owners(sizes({1}), 0, OwnerPolicy::kLptNumel)), RuntimeFailure);
}

TEST(Owners, OfAllPoliciesAreReplicasThatExist) {
  for (const auto& [policy, name] : kOwnerPolicyNames) {
    for (const int replicas : {1, 2, 3, 7, 64}) {
      std::vector<OwnedCandidate> list;
      for (int i = 0; i < 100; ++i) list.push_back({Elements(1 + i * 37 % 50), i * 91 % 70});
      const std::vector<int> owners = deal_to_owners(list, replicas, policy);
      ASSERT_EQ(owners.size(), list.size());
      EXPECT_EQ(*std::min_element(owners.begin(), owners.end()), 0) << name;
      EXPECT_EQ(*std::max_element(owners.begin(), owners.end()), std::min(replicas, 100) - 1) << name;
    }
  }
}

std::vector<int> owners_of(const TestModel& model) {
  std::vector<int> all;
  for (const auto& owner : model.inputs().layer_wise.owners) all.push_back(owner.value_or(-1));
  return all;
}

TEST(Owners, DenseParamsAndExpertsAndStagesAreDealtOutApart) {
  std::vector<Parameter> params;
  for (int stage = 0; stage < 2; ++stage) {
    for (int i = 0; i < 3; ++i) {
      params.push_back(muon("w" + std::to_string(10 * stage + i), {8, 8}));
      params.back().stage = stage;
      params.push_back(expert(muon("e" + std::to_string(10 * stage + i), {8, 8})));
      params.back().stage = stage;
      params.back().expert_set = "e" + std::to_string(stage);
    }
  }
  // Dense dp 4, expert dp 8 / (2 * 1) = 4 of each stage's 8 ranks.
  const TestModel model(params, GridShape{.tp = 2, .dp = 4, .pp = 2, .expert_tp = 2});
  EXPECT_EQ(owners_of(model), (std::vector{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  // ep 3 takes the three experts apart: each is the first of its own list.
  const TestModel with_ep(params, GridShape{.tp = 2, .dp = 6, .pp = 2, .ep = 3, .expert_tp = 2});
  EXPECT_EQ(owners_of(with_ep), (std::vector{0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2, 0}));
}

TEST(Owners, SortByTheLocalShardWithItsPadsAndCostByTheFullShape) {
  // Shards over G = 2 with pads: (17 + 15) / 2 * 4 = 64 elements, 32 / 2 * 3 = 48, untagged 9 * 6 = 54.
  const std::vector<Parameter> params = {muon("padded", {17, 4}), muon("even", {32, 3}),
                                         untagged(muon("whole", {9, 6}))};
  const TestModel by_size(params, domain_grid(2, 1, 3),
                          {.pad_for_alignment = 16, .owners = OwnerPolicy::kPingPong});
  EXPECT_EQ(owners_of(by_size), (std::vector{2, 0, 1}));
  // Costs 17 * 16 = 272, 32 * 9 = 288, 9 * 36 = 324.
  const TestModel by_cost(params, domain_grid(2, 1, 3),
                          {.pad_for_alignment = 16, .owners = OwnerPolicy::kLptNsCost});
  EXPECT_EQ(owners_of(by_cost), (std::vector{2, 1, 0}));
}

TEST(Owners, OfTheHybridAreForMuonAloneAndAParamWithoutGradientHasOneToo) {
  const std::vector<Parameter> params = {adam("giant", {64, 64}), muon("a", {8, 8}),
                                         without_gradient(muon("frozen", {9, 8})), adam("t", {4, 4})};
  const TestModel hybrid(params, domain_grid(1, 1, 2), {.layer_wise_adam = LayerWiseAdam::kDim0});
  EXPECT_EQ(owners_of(hybrid), (std::vector{-1, 0, 1, -1}));
  const TestModel all(params, domain_grid(1, 1, 2));
  EXPECT_EQ(owners_of(all), (std::vector{0, 1, 1, 0}));  // ascending: t, a, frozen, giant to 0, 1, 1, 0
}

}  // namespace
}  // namespace muonbench
