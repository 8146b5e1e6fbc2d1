// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/param_groups.h"

#include <gtest/gtest.h>

namespace muonbench {
namespace {

enum class Kind { kDense, kExpert };

Parameter muon_in(const std::string& group, Kind kind = Kind::kDense) {
  Parameter param;
  param.shape = {4, 4};
  param.group = group;
  param.expert = kind == Kind::kExpert;
  return param;
}

std::vector<ParamIndex> indices(const std::vector<int>& values) {
  std::vector<ParamIndex> all;
  for (const int value : values) all.emplace_back(value);
  return all;
}

TEST(MuonGroups, StandInOrderOfFirstAppearance) {
  ParamSet set;
  set.params = {muon_in("slow"), muon_in("dense"), muon_in("slow"), muon_in("expert", Kind::kExpert)};
  const std::vector<ParamGroup> groups = muon_groups(set, {});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].label, "slow");
  EXPECT_EQ(groups[0].params, indices({0, 2}));
  EXPECT_EQ(groups[1].label, "dense");
  EXPECT_EQ(groups[2].family, Family::kExpert);
}

TEST(MuonGroups, NeverMixFamiliesUnderOneLabel) {
  ParamSet set;
  set.params = {muon_in("slow"), muon_in("slow", Kind::kExpert), muon_in("slow")};
  const std::vector<ParamGroup> groups = muon_groups(set, {});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].params, indices({0, 2}));
  EXPECT_EQ(groups[1].params, indices({1}));
}

TEST(MuonGroups, FollowTheRuleOfTheirLabelOrElseTheCommonOne) {
  ParamSet set;
  set.params = {muon_in("slow"), muon_in("dense"), muon_in("slow", Kind::kExpert)};
  const MomentumRule common{.lr = 0.5F, .momentum = 0.75F, .weight_decay = 0.25F};
  MomentumRule slow = common;
  slow.lr = 0.125F;
  const std::vector<ParamGroup> groups = muon_groups(set, common, {{"slow", slow}, {"unused", common}});
  ASSERT_EQ(groups.size(), 3U) << "a label that nothing joins makes no group";
  EXPECT_EQ(groups[0].rule.lr, 0.125F);
  EXPECT_EQ(groups[1].rule.lr, 0.5F);
  EXPECT_EQ(groups[2].rule.lr, 0.125F) << "in both families";
  EXPECT_EQ(groups[0].rule.momentum, 0.75F);
}

TEST(MuonGroups, LeaveOutAdamsAndGradientlessParameters) {
  ParamSet set;
  set.params = {muon_in("dense"), muon_in("dense"), muon_in("dense")};
  set.params[0].optimizer = OptimizerKind::kAdam;
  set.params[2].gradient = GradientFill::kNone;
  const std::vector<ParamGroup> groups = muon_groups(set, {});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].params, indices({1}));
}

}  // namespace
}  // namespace muonbench
