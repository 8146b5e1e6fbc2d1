// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/group_queues.h"

#include <gtest/gtest.h>

namespace muonbench {
namespace {

ParamGroup group(const std::string& label, Family family = Family::kDense) { return {label, family, {}, {}}; }

const std::vector<ParamGroup> kTwoDenseAndExpert = {group("dense_a"), group("expert", Family::kExpert),
                                                    group("dense_b")};

GroupQueues queues_on(GridShape shape, const std::vector<ParamGroup>& groups,
                      QueueUse use = QueueUse::kConcurrent) {
  return queue_groups(groups, RankGrid(shape), use, "some");
}

TEST(GroupQueues, GroupsOfOneDomainShareAQueueAndOfAnotherHaveTheirOwn) {
  const GroupQueues queues =
      queues_on({.tp = 2, .gtp_remat = 2, .ep = 2, .expert_gtp_remat = 2}, kTwoDenseAndExpert);
  EXPECT_EQ(queues.of_group, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(queues.count, 2);
  EXPECT_TRUE(queues.concurrent());
  EXPECT_EQ(queues.why,
            "dense_a and dense_b share the tp and gtp_remat communicators and go one after the other");
}

TEST(GroupQueues, OneSharedAxisIsEnough) {
  for (const GridShape& shape : {GridShape{.tp = 2}, GridShape{.gtp_remat = 2}}) {
    const GroupQueues queues = queues_on(shape, {group("a"), group("b"), group("c")});
    EXPECT_EQ(queues.of_group, (std::vector<int>{0, 0, 0}));
    EXPECT_FALSE(queues.concurrent());
    const std::string axis = shape.tp > 1 ? "tp" : "gtp_remat";
    EXPECT_EQ(queues.why, "a, b and c share the " + axis + " communicator and go one after the other");
  }
}

TEST(GroupQueues, ADomainOfOneRankHasNoCommunicatorToShare) {
  // dp ranks hold replicas: they exchange nothing on the way of a Muon update.
  const GroupQueues queues = queues_on({.dp = 4}, kTwoDenseAndExpert);
  EXPECT_EQ(queues.of_group, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(queues.why, "no two param groups share a communicator");
}

TEST(GroupQueues, EachFamilyHasCommunicatorsOfItsOwn) {
  const GroupQueues queues = queues_on({.gtp_remat = 4, .expert_gtp_remat = 4}, kTwoDenseAndExpert);
  EXPECT_EQ(queues.of_group, (std::vector<int>{0, 1, 0}));
  const GroupQueues experts =
      queues_on({.gtp_remat = 2, .expert_tp = 2},
                {group("slow", Family::kExpert), group("slow"), group("expert", Family::kExpert)});
  EXPECT_EQ(experts.of_group, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(experts.why,
            "slow (expert) and expert share the expert tp communicator and go one after the other");
}

TEST(GroupQueues, ABackendThatRunsQueuesInTurnSaysSoAndWhatWouldShareAQueueAnyway) {
  const GroupQueues queues =
      queues_on({.tp = 2, .gtp_remat = 2, .ep = 4}, kTwoDenseAndExpert, QueueUse::kBackendRunsInTurn);
  EXPECT_EQ(queues.of_group, (std::vector<int>{0, 0, 0}));
  EXPECT_FALSE(queues.concurrent());
  EXPECT_EQ(queues.why,
            "backend some runs queues in turn; dense_a and dense_b share the tp and gtp_remat communicators "
            "and go one after the other");
}

TEST(GroupQueues, SwitchedOffAllGoInTurn) {
  const GroupQueues queues = queues_on({.dp = 4}, kTwoDenseAndExpert, QueueUse::kSwitchedOff);
  EXPECT_EQ(queues.of_group, (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(queues.why, "off by muon.concurrent_groups");
}

TEST(GroupQueues, FewerThanTwoGroupsHaveNothingToOverlap) {
  EXPECT_EQ(queues_on({.tp = 2}, {group("a")}).why, "one param group");
  EXPECT_EQ(queues_on({.tp = 2}, {}).why, "no param group");
  EXPECT_EQ(queues_on({.tp = 2}, {}).count, 1);
}

}  // namespace
}  // namespace muonbench
