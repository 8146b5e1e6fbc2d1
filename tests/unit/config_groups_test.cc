// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/config_sample.h"
#include <gtest/gtest.h>

#include "src/base/text.h"

namespace muonbench::testing {
namespace {

/// A parameter in `group`, among these muon.groups.
std::string job(const std::string& group, const std::string& groups) {
  return text(R"({{"model": {{"params": [{{"name": "w", "shape": [4, 4], "group": {}}}]}},
                  "muon": {{"lr": 0.5, "weight_decay": 0.25, "groups": {}}}}})",
              group, groups);
}

TEST(ConfigGroups, TakeWhatTheyLeaveOutFromSectionMuon) {
  const RunConfig config = read(job(R"("b")", R"({"a": {}, "b": {"lr": 2}, "c.d": {"weight_decay": 0}})"));
  ASSERT_EQ(config.muon.groups.size(), 3U);
  EXPECT_EQ(config.muon.groups.at("a").lr, 0.5);
  EXPECT_EQ(config.muon.groups.at("a").weight_decay, 0.25);
  EXPECT_EQ(config.muon.groups.at("b").lr, 2);
  EXPECT_EQ(config.muon.groups.at("b").weight_decay, 0.25);
  EXPECT_EQ(config.muon.groups.at("c.d").lr, 0.5);
  EXPECT_EQ(config.muon.groups.at("c.d").weight_decay, 0);
  EXPECT_EQ(config.model.params->front().group, "b");
}

TEST(ConfigGroups, AreJoinedByNameOrBuiltIn) {
  for (const char* const group : {"null", R"("dense")", R"("expert")", R"("slow")"})
    EXPECT_EQ(refusal(job(group, R"({"slow": {}})")), "") << group;
}

TEST(ConfigGroups, ThatCanNotBeAreRefused) {
  expect_refusals({
      {job(R"("slwo")", R"({"slow": {}})"),
       "model.params[0].group: expected dense, expert or a key of muon.groups (slow), got \"slwo\", did you "
       "mean "
       "slow?"},
      {job(R"("fast")", "{}"),
       "model.params[0].group: expected dense, expert or a key of muon.groups (none), got \"fast\""},
      {job("7", "{}"), "model.params[0].group: expected dense, expert, a key of muon.groups or null, got 7"},
      {job("null", R"({"dense": {}})"),
       "muon.groups.dense: expected a label beside the built-in dense and expert, got \"dense\""},
      {job("null", R"({"slow": {"lr": -1}})"),
       "muon.groups.slow.lr: expected a number in [0, 3.4028235e+38], got -1"},
      {job("null", R"({"slow": {"rl": 1}})"), "muon.groups.slow.rl: unknown key, did you mean lr?"},
      {job("null", R"({"slow": 1})"), "muon.groups.slow: expected an object, got 1"},
      {job("null", R"(["slow"])"), "muon.groups: expected an object, got [\"slow\"]"},
  });
}

TEST(ConfigRequire, HoldsBoundsByModeAndField) {
  const RunConfig config = read(minimal_and(
      R"("require": {"duplicated.step_seconds.p50": {"max": 1.5}, "layer_sharded.x": {"min": -2, "max": 3}})"));
  ASSERT_EQ(config.require.size(), 2U);
  EXPECT_FALSE(config.require.at("duplicated.step_seconds.p50").min.has_value());
  EXPECT_EQ(config.require.at("duplicated.step_seconds.p50").max, 1.5);
  EXPECT_EQ(config.require.at("layer_sharded.x").min, -2);
  EXPECT_EQ(config.require.at("layer_sharded.x").max, 3);
}

TEST(ConfigRequire, RefusesBoundsThatNothingCanMeet) {
  const auto require = [](const std::string& entry) {
    return minimal_and(text(R"("modes": ["duplicated"], "require": {{{}}})", entry));
  };
  const std::string names =
      "require: expected names \"MODE.field\" with MODE among the modes of this run (duplicated), got ";
  expect_refusals({
      {require(R"("duplicated.x": {"min": 3, "max": 2})"),
       "require.duplicated.x: expected min to be at most max, got {\"min\": 3, \"max\": 2}"},
      {require(R"("duplicated.x": {})"), "require.duplicated.x: expected min, max or both, got {}"},
      {require(R"("duplicated.x": 3)"), "require.duplicated.x: expected an object, got 3"},
      {require(R"("duplicated.x": {"mim": 3})"), "require.duplicated.x.mim: unknown key, did you mean min?"},
      {require(R"("layer_sharded.x": {"min": 1})"), names + "\"layer_sharded.x\""},
      {require(R"("duplicated": {"min": 1})"), names + "\"duplicated\""},
      {require(R"("duplicated.": {"min": 1})"), names + "\"duplicated.\""},
      {require(R"("duplicated.x": {"min": "1"})"),
       "require.duplicated.x.min: expected a number in [-1.7976931348623157e+308, 1.7976931348623157e+308], "
       "got "
       "\"1\""},
  });
}

}  // namespace
}  // namespace muonbench::testing
