// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/residence.h"

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

std::vector<int> stages(int layers, int pp) {
  std::vector<int> all;
  for (int layer = 0; layer < layers; ++layer) all.push_back(stage_of_layer(layer, layers, pp));
  return all;
}

Parameter of_layer(const std::string& name, int layer) {
  Parameter param;
  param.name = name;
  param.shape = {4, 4};
  param.layer = layer;
  return param;
}

Parameter expert_of(const std::string& name, const std::string& set) {
  Parameter param;
  param.name = name;
  param.shape = {4, 4};
  param.expert = true;
  param.expert_set = set;
  return param;
}

TEST(StageOfLayer, GivesTheFirstStagesOneLayerMore) {
  EXPECT_EQ(stages(6, 3), (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(stages(7, 3), (std::vector<int>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(stages(8, 3), (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(stages(2, 4), (std::vector<int>{0, 1})) << "the last two stages have no layer";
  EXPECT_EQ(stages(5, 1), (std::vector<int>{0, 0, 0, 0, 0}));
}

TEST(StageOfLayer, PutsTheEmbeddingFirstAndTheOutputLast) {
  for (const int pp : {1, 2, 4, 9}) {
    EXPECT_EQ(stage_of_layer(-1, 7, pp), 0);
    EXPECT_EQ(stage_of_layer(7, 7, pp), pp - 1);
  }
}

TEST(PlaceParams, PutsLayersOnTheirStages) {
  ParamSet set;
  set.layers = 3;
  set.params = {of_layer("embed", -1), of_layer("a", 0), of_layer("b", 1), of_layer("c", 2),
                of_layer("out", 3)};
  const std::vector<Residence> at = place_params(set, GridShape{.pp = 2});
  EXPECT_EQ(at, (std::vector<Residence>{{0, 0}, {0, 0}, {0, 0}, {1, 0}, {1, 0}}));
}

TEST(PlaceParams, DealsExpertsOfASetInContiguousEqualBlocks) {
  ParamSet set;
  for (int i = 0; i < 6; ++i) {
    set.params.push_back(expert_of(text("a{}", i), "a"));
    if (i % 3 == 0) set.params.push_back(expert_of(text("b{}", i), "b"));
  }
  const std::vector<Residence> at = place_params(set, GridShape{.dp = 2, .ep = 2});
  std::vector<int> a, b;
  for (std::size_t i = 0; i < at.size(); ++i) (set.params[i].expert_set == "a" ? a : b).push_back(at[i].ep);
  EXPECT_EQ(a, (std::vector<int>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(b, (std::vector<int>{0, 1})) << "each set is counted by itself";
}

TEST(PlaceParams, RefusesAnEpThatDoesNotDivideASet) {
  ParamSet set;
  for (int i = 0; i < 6; ++i) set.params.push_back(expert_of(text("a{}", i), "layers.3.moe.expert.up"));
  try {
    static_cast<void>(place_params(set, GridShape{.dp = 4, .ep = 4}));
    FAIL() << "6 experts cannot be dealt to 4 ranks";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "parallelism.ep: expected a divisor of the 6 experts of layers.3.moe.expert.up, got 4");
  }
}

TEST(PlaceParams, TakesTheStageOfAnEntryOrRefusesItBeyondTheLast) {
  ParamSet set;
  set.params = {expert_of("w", "w")};
  set.params[0].stage = 2;
  EXPECT_EQ(place_params(set, GridShape{.pp = 3})[0].stage, 2);
  try {
    static_cast<void>(place_params(set, GridShape{.pp = 2}));
    FAIL() << "there is no stage 2 of 2";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "parameter 'w': stage: expected 0..1 (parallelism.pp is 2), got 2");
  }
}

// 16 ranks: dense tp 2 x gtp_remat 2 x dp 2 x pp 2; experts ep 2 x gtp_remat 2 x (expert dp 2) x pp 2.
TEST(IsHeld, ByEveryReplicaOfItsStageAndEpIndexAlone) {
  const RankGrid grid(GridShape{.tp = 2, .gtp_remat = 2, .dp = 2, .pp = 2, .ep = 2, .expert_gtp_remat = 2});
  const Parameter dense = of_layer("d", 0), routed = expert_of("e", "e");
  const Residence second{1, 0}, odd{0, 1};
  for (int rank = 0; rank < grid.world_size(); ++rank) {
    EXPECT_EQ(is_held(dense, second, grid, WorldRank(rank)), rank >= 8) << rank;
    // et is one rank wide, so that ep is the fastest axis of the expert grid.
    EXPECT_EQ(is_held(routed, odd, grid, WorldRank(rank)), rank < 8 && rank % 2 == 1) << rank;
  }
}

}  // namespace
}  // namespace muonbench
