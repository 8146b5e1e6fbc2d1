// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/waves.h"

#include <vector>

#include <gtest/gtest.h>

namespace muonbench {
namespace {

WaveCandidate on_rank(int g, int t, std::int64_t elements) {
  return {Home{GtpRank(g), TpRank(t)}, Elements(elements)};
}

TEST(Waves, BringEveryHomeItsShareInTurn) {
  std::vector<WaveCandidate> candidates;
  for (int i = 0; i < 16; ++i) candidates.push_back(on_rank(i % 2, 0, 10));
  const std::vector<int> waves = assign_waves(candidates, {2, 1}, 4);
  for (int wave = 0; wave < 4; ++wave)
    for (int g = 0; g < 2; ++g) {
      std::int64_t count = 0;
      for (std::size_t i = 0; i < waves.size(); ++i)
        count += waves[i] == wave && candidates[i].home.g == GtpRank(g) ? 1 : 0;
      EXPECT_EQ(count, 2) << "wave " << wave << ", home " << g;
    }
}

TEST(Waves, TakeTheLargestFirst) {
  // On one home: 7 to wave 0, 5 and 3 to wave 1, 4 ... : 7 | 5, then 4 to the 5, 3 to the 7.
  const std::vector<WaveCandidate> candidates = {on_rank(0, 0, 3), on_rank(0, 0, 4), on_rank(0, 0, 7),
                                                 on_rank(0, 0, 5)};
  EXPECT_EQ(assign_waves(candidates, {2, 1}, 2), (std::vector<int>{0, 1, 0, 1}));
}

TEST(Waves, OfHomesWithLittleGoWhereLittleTravels) {
  // Four homes of one weight each, of equal size: a wave for each rather than all in the first.
  std::vector<WaveCandidate> candidates;
  for (int g = 0; g < 4; ++g) candidates.push_back(on_rank(g, 0, 8));
  EXPECT_EQ(assign_waves(candidates, {4, 1}, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(assign_waves(candidates, {4, 1}, 2), (std::vector<int>{0, 1, 0, 1}));
}

TEST(Waves, CountAColumnOnAllOfItsRanks) {
  // The column fills ranks (0, 0) and (0, 1) of wave 0: what is at home on either goes to wave 1.
  const std::vector<WaveCandidate> candidates = {
      {Home{GtpRank(0), std::nullopt}, Elements(9)}, on_rank(0, 1, 5), on_rank(0, 0, 4), on_rank(1, 0, 1)};
  EXPECT_EQ(assign_waves(candidates, {2, 2}, 2), (std::vector<int>{0, 1, 1, 0}));
}

TEST(Waves, AreNumberedWithoutAGapHoweverManyAreAskedFor) {
  const std::vector<WaveCandidate> candidates(3, on_rank(0, 0, 2));
  EXPECT_EQ(assign_waves(candidates, {1, 1}, 1000), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(assign_waves(candidates, {1, 1}, 1), (std::vector<int>{0, 0, 0}));
  EXPECT_TRUE(assign_waves({}, {1, 1}, 4).empty());
}

}  // namespace
}  // namespace muonbench
