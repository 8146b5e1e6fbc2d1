// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/ping_pong.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

/// Sizes 1, 2, ..., n.
std::vector<Elements> ascending(int n) {
  std::vector<Elements> sizes;
  for (int i = 1; i <= n; ++i) sizes.emplace_back(i);
  return sizes;
}

std::vector<int> visits(const std::vector<Elements>& sizes, int ranks) {
  std::vector<int> all;
  for (const GroupRank rank : ping_pong(sizes, ranks)) all.push_back(rank.value());
  return all;
}

TEST(PingPong, VisitsRanksForthAndBackSoThatEndRanksGetTwoInARow) {
  EXPECT_EQ(visits(ascending(10), 4), (std::vector{0, 1, 2, 3, 3, 2, 1, 0, 0, 1}));
  EXPECT_EQ(visits(ascending(3), 1), (std::vector{0, 0, 0}));
  EXPECT_EQ(visits({}, 4), std::vector<int>{});
}

TEST(PingPong, OrdersBySizeWhateverTheListsOrderAndKeepsTiesInIt) {
  const std::vector<Elements> sizes = {Elements(9), Elements(5), Elements(9), Elements(1), Elements(5)};
  // Ascending and stable: 3, 1, 4, 0, 2 visit 0, 1, 2, 2, 1.
  EXPECT_EQ(visits(sizes, 3), (std::vector{2, 1, 1, 0, 2}));
}

TEST(PingPong, ManyEqualSizesGoInListOrder) {
  const std::vector<int> rank = visits(std::vector<Elements>(40, Elements(7)), 4);
  const std::vector<int> period = {0, 1, 2, 3, 3, 2, 1, 0};
  for (std::size_t i = 0; i < rank.size(); ++i) ASSERT_EQ(rank[i], period[i % 8]) << i;
}

TEST(PingPong, WhereTheTwoLargestLandDependsOnTheCountAlone) {
  struct Row {
    int count, second_largest, largest;
  };
  for (const Row& row : {Row{8, 1, 0}, Row{9, 0, 0}, Row{10, 0, 1}, Row{11, 1, 2}, Row{12, 2, 3},
                         Row{13, 3, 3}, Row{14, 3, 2}, Row{15, 2, 1}, Row{16, 1, 0}}) {
    const std::vector<int> rank = visits(ascending(row.count), 4);
    EXPECT_EQ(rank.at(static_cast<std::size_t>(row.count) - 2), row.second_largest) << row.count;
    EXPECT_EQ(rank.back(), row.largest) << row.count;
  }
}

TEST(PingPong, TheTwoLargestMeetOnOneRankExactlyWhereTheSequenceTurns) {
  for (const int ranks : {2, 3, 8}) {
    for (int count = 2; count <= 6 * ranks; ++count) {
      const std::vector<int> rank = visits(ascending(count), ranks);
      const bool meet = rank.back() == rank.at(static_cast<std::size_t>(count) - 2);
      EXPECT_EQ(meet, count % (2 * ranks) == 1 || count % (2 * ranks) == ranks + 1)
          << ranks << " ranks, " << count;
    }
  }
}

TEST(PingPong, RefusesAGroupWithoutRanks) {
  EXPECT_THROW(static_cast<void>(ping_pong(ascending(2), 0)), RuntimeFailure);
}

// Issue #2163's model: Muon matrices of 7168 x 2048 (8 B per element of state), an embedding and an output
// matrix of 130000 x 7168 (12 B) on four ranks.
constexpr std::int64_t kMatrix = 7168LL * 2048, kGiant = 130000LL * 7168;

std::vector<std::int64_t> state_bytes_by_rank(int matrices) {
  std::vector<Elements> sizes(2, Elements(kGiant));  // the model's order: embedding and output first
  sizes.insert(sizes.end(), static_cast<std::size_t>(matrices), Elements(kMatrix));
  const std::vector<int> rank = visits(sizes, 4);
  std::vector<std::int64_t> bytes(4);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    bytes.at(static_cast<std::size_t>(rank[i])) += sizes[i].value() * (sizes[i] == Elements(kGiant) ? 12 : 8);
  return bytes;
}

TEST(PingPong, TwoGiantsAmongTenParamsNearlyDoubleTheStateOfTheirRanks) {
  const std::vector<std::int64_t> bytes = state_bytes_by_rank(8);
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{11416961024, 11416961024, 234881024, 234881024}));
  const double mean = static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})) / 4;
  EXPECT_NEAR(static_cast<double>(bytes[0]) / mean, 1.96, 0.005);  // the published figure has two decimals
}

TEST(PingPong, BothGiantsOfNineParamsShareOneRank) {
  const std::vector<std::int64_t> bytes = state_bytes_by_rank(7);
  EXPECT_EQ(bytes[0], 2 * 11182080000 + 117440512);
  EXPECT_EQ(*std::max_element(bytes.begin() + 1, bytes.end()), 234881024);
}

}  // namespace
}  // namespace muonbench
