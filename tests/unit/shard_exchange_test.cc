// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/shard_exchange.h"

#include <map>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

Segment segment(std::int64_t offset, std::int64_t size) { return {Elements(offset), Elements(size)}; }

TEST(ShardExchange, LaysOutThreeShardsOnTwoRanks) {
  // n0, n1, n2 = 3, 5, 7, at home on 1, 0, 1.
  const std::vector<ExchangeItem> items = {
      {GroupRank(1), Elements(3)}, {GroupRank(0), Elements(5)}, {GroupRank(1), Elements(7)}};
  // [ n0 n2 ] leaves the first, which keeps [ n1 ].
  const ShardExchange first(items, 2, GroupRank(0));
  EXPECT_EQ(first.shard_side(), (std::vector{segment(0, 0), segment(0, 10)}));
  EXPECT_EQ(first.shard_side_size(), Elements(10));
  EXPECT_EQ(first.shard_of(0), segment(0, 3));
  EXPECT_EQ(first.shard_of(2), segment(3, 7));
  EXPECT_EQ(first.home_side(), (std::vector{segment(0, 0), segment(0, 5)}));
  EXPECT_EQ(first.home_side_size(), Elements(5));
  EXPECT_EQ(first.homed_here(), std::vector<int>{1});
  EXPECT_EQ(first.piece_of(1, GroupRank(1)), segment(0, 5));
  EXPECT_EQ(first.own_block_size(), Elements(5));
  EXPECT_EQ(first.shard_of(1), segment(0, 5));
  EXPECT_EQ(first.piece_of(1, GroupRank(0)), segment(0, 5));
  // [ n1 ] leaves the second, which keeps [ n0 n2 ].
  const ShardExchange second(items, 2, GroupRank(1));
  EXPECT_EQ(second.shard_side(), (std::vector{segment(0, 5), segment(5, 0)}));
  EXPECT_EQ(second.shard_of(1), segment(0, 5));
  EXPECT_EQ(second.home_side(), (std::vector{segment(0, 10), segment(10, 0)}));
  EXPECT_EQ(second.homed_here(), (std::vector{0, 2}));
  EXPECT_EQ(second.piece_of(0, GroupRank(0)), segment(0, 3));
  EXPECT_EQ(second.piece_of(2, GroupRank(0)), segment(3, 7));
  EXPECT_EQ(second.own_block_size(), Elements(10));
  EXPECT_EQ(second.shard_of(0), segment(0, 3));
  EXPECT_EQ(second.shard_of(2), segment(3, 7));
  EXPECT_EQ(second.piece_of(0, GroupRank(1)), segment(0, 3));
  EXPECT_EQ(second.piece_of(2, GroupRank(1)), segment(3, 7));
}

TEST(ShardExchange, OfAGroupOfOneIsAnOwnBlockAlone) {
  const ShardExchange exchange({{GroupRank(0), Elements(4)}, {GroupRank(0), Elements(6)}}, 1, GroupRank(0));
  EXPECT_EQ(exchange.own_block_size(), Elements(10));
  EXPECT_EQ(exchange.shard_side_size(), Elements(0));
  EXPECT_EQ(exchange.home_side_size(), Elements(0));
}

TEST(ShardExchange, ARankWithoutHomesReceivesNothingAndSendsItsShards) {
  const ShardExchange exchange({{GroupRank(2), Elements(4)}, {GroupRank(2), Elements(6)}}, 3, GroupRank(0));
  EXPECT_EQ(exchange.shard_side(), (std::vector{segment(0, 0), segment(0, 0), segment(0, 10)}));
  EXPECT_EQ(exchange.home_side(), (std::vector{segment(0, 0), segment(0, 0), segment(0, 0)}));
  EXPECT_TRUE(exchange.homed_here().empty());
}

TEST(ShardExchange, AnEmptyListMovesNothing) {
  const ShardExchange exchange({}, 4, GroupRank(3));
  EXPECT_TRUE(exchange.empty());
  EXPECT_EQ(exchange.shard_side_size(), Elements(0));
  EXPECT_EQ(exchange.home_side_size(), Elements(0));
  EXPECT_EQ(exchange.shard_side().size(), 4U);
}

TEST(ShardExchange, RefusesAHomeOutsideTheGroupAndAPieceOfAnItemThatIsElsewhere) {
  EXPECT_THROW(ShardExchange({{GroupRank(2), Elements(4)}}, 2, GroupRank(0)), RuntimeFailure);
  const ShardExchange exchange({{GroupRank(1), Elements(4)}}, 2, GroupRank(0));
  EXPECT_THROW(static_cast<void>(exchange.piece_of(0, GroupRank(0))), RuntimeFailure);
}

/// A random list, seen from every rank.
class RandomExchange {
 public:
  explicit RandomExchange(unsigned seed) {
    std::mt19937 random(seed);
    const int size = 1 + static_cast<int>(random() % 7);
    const int count = static_cast<int>(random() % 9);
    for (int i = 0; i < count; ++i)
      items.push_back(
          {GroupRank(static_cast<int>(random() % static_cast<unsigned>(size))), Elements(1 + random() % 40)});
    for (int r = 0; r < size; ++r) ranks.emplace_back(items, size, GroupRank(r));
  }
  std::vector<ExchangeItem> items;
  std::vector<ShardExchange> ranks;
};

TEST(ShardExchange, WhatRankISendsToJIsWhatJExpectsFromI) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomExchange lists(seed);
    for (std::size_t i = 0; i < lists.ranks.size(); ++i)
      for (std::size_t j = 0; j < lists.ranks.size(); ++j)
        ASSERT_EQ(lists.ranks[i].shard_side()[j].size, lists.ranks[j].home_side()[i].size) << seed;
  }
}

TEST(ShardExchange, EveryShardTravelsHomeAndBackIntoItsOwnPlaceOrStaysThere) {
  // Values name (rank, item, element); forward must bring each to piece_of, reverse back to shard_of. Own
  // blocks, where shard_of is piece_of, lie apart.
  using Value = std::tuple<std::size_t, std::size_t, std::int64_t>;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomExchange lists(seed);
    const std::size_t size = lists.ranks.size();
    std::vector<std::map<std::int64_t, Value>> sent(size), received(size), kept(size);
    for (std::size_t r = 0; r < size; ++r)
      for (std::size_t n = 0; n < lists.items.size(); ++n)
        for (std::int64_t e = 0; e < lists.items[n].shard.value(); ++e) {
          const std::int64_t place = lists.ranks[r].shard_of(static_cast<int>(n)).offset.value() + e;
          auto& side = lists.ranks[r].is_homed_here(static_cast<int>(n)) ? kept[r] : sent[r];
          ASSERT_TRUE(side.emplace(place, Value{r, n, e}).second) << "two elements at one place";
        }
    for (std::size_t r = 0; r < size; ++r) {
      ASSERT_EQ(Elements(static_cast<std::int64_t>(sent[r].size())), lists.ranks[r].shard_side_size());
      ASSERT_EQ(Elements(static_cast<std::int64_t>(kept[r].size())), lists.ranks[r].own_block_size());
    }
    for (std::size_t from = 0; from < size; ++from)
      for (std::size_t to = 0; to < size; ++to) {
        const Segment out = lists.ranks[from].shard_side()[to], in = lists.ranks[to].home_side()[from];
        for (std::int64_t e = 0; e < out.size.value(); ++e)
          ASSERT_TRUE(
              received[to].emplace(in.offset.value() + e, sent[from].at(out.offset.value() + e)).second);
      }
    for (std::size_t n = 0; n < lists.items.size(); ++n) {
      const auto home = static_cast<std::size_t>(lists.items[n].home.value());
      for (std::size_t from = 0; from < size; ++from) {
        const Segment piece =
            lists.ranks[home].piece_of(static_cast<int>(n), GroupRank(static_cast<int>(from)));
        for (std::int64_t e = 0; e < piece.size.value(); ++e)
          ASSERT_EQ((from == home ? kept : received)[home].at(piece.offset.value() + e), (Value{from, n, e}))
              << seed;
      }
    }
  }
}

}  // namespace
}  // namespace muonbench
