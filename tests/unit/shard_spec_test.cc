// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/shard/shard_spec.h"

#include <map>
#include <set>

#include "tests/support/shard_oracle.h"
#include <gtest/gtest.h>

#include "src/base/error.h"

namespace muonbench {
namespace {

Parameter weight(Shape shape, std::optional<int> tp_dim, bool gtp_remat) {
  Parameter param;
  param.name = "layers.3.ffn.up";
  param.shape = shape;
  param.tp_dim = tp_dim;
  param.gtp_remat = gtp_remat;
  return param;
}
ParamShardSpec spec_of(Shape shape, std::optional<int> tp_dim, DomainShape domain,
                       std::int64_t pad_for_alignment = 16) {
  return ParamShardSpec::from_param(weight(shape, tp_dim, true), domain, pad_for_alignment);
}
DomainPlace at(int g, int t) { return {GtpRank(g), TpRank(t)}; }

std::vector<std::int64_t> true_rows_by_rank(std::int64_t rows, int gtp_remat,
                                            std::int64_t pad_for_alignment) {
  const ParamShardSpec spec = spec_of({rows, 16}, std::nullopt, {gtp_remat, 1}, pad_for_alignment);
  std::vector<std::int64_t> counts;
  for (int g = 0; g < gtp_remat; ++g) counts.push_back(spec.extent(at(g, 0)).rows.count);
  return counts;
}

std::string refusal(const Parameter& param, DomainShape domain, std::int64_t pad_for_alignment = 16) {
  try {
    static_cast<void>(ParamShardSpec::from_param(param, domain, pad_for_alignment));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}
void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

TEST(ShardSpec, PadsTpLocalRowsToSixteenPerGtpRematRank) {
  struct Row {
    std::int64_t dim0;
    int gtp_remat;
    std::int64_t pad, per_rank;
  };
  for (const Row& row :
       {Row{126, 8, 2, 16}, Row{62, 8, 66, 16}, Row{31, 2, 1, 16}, Row{48, 2, 16, 32}, Row{576, 8, 64, 80},
        Row{2048, 8, 0, 256}, Row{7168, 8, 0, 896}, Row{11008, 8, 0, 1376}, Row{18432, 16, 0, 1152}}) {
    const ParamShardSpec spec = spec_of({row.dim0, 7}, std::nullopt, {row.gtp_remat, 1});
    EXPECT_EQ(spec.pad_length, row.pad) << row.dim0;
    EXPECT_EQ(spec.shard_shape(), (Shape{row.per_rank, 7})) << row.dim0;
  }
}

TEST(ShardSpec, PadsMayCoverWholeRanks) {
  const ParamShardSpec spec = spec_of({62, 5}, std::nullopt, {8, 1});
  const std::vector<std::int64_t> pads = {0, 0, 0, 2, 16, 16, 16, 16};
  for (int g = 0; g < 8; ++g)
    EXPECT_EQ(spec.extent(at(g, 0)).pad_rows, pads[static_cast<std::size_t>(g)]) << g;
  EXPECT_TRUE(spec.extent(at(5, 0)).rows.empty());
}

TEST(ShardSpec, DealsRowsThatNoGroupSizeDivides) {
  EXPECT_EQ(true_rows_by_rank(9, 4, 1), (std::vector<std::int64_t>{3, 3, 3, 0}));
  EXPECT_EQ(true_rows_by_rank(5, 4, 1), (std::vector<std::int64_t>{2, 2, 1, 0}));
  std::vector<std::int64_t> fourteen_fives(14, 5);
  fourteen_fives.insert(fourteen_fives.end(), {2, 0});
  EXPECT_EQ(true_rows_by_rank(72, 16, 1), fourteen_fives);
  EXPECT_EQ(true_rows_by_rank(9, 4, 16), (std::vector<std::int64_t>{9, 0, 0, 0}));
  EXPECT_EQ(true_rows_by_rank(5, 4, 16), (std::vector<std::int64_t>{5, 0, 0, 0}));
  EXPECT_EQ(true_rows_by_rank(8, 4, 0), (std::vector<std::int64_t>{2, 2, 2, 2}));
}

TEST(ShardSpec, ClassifiesByTheAxesThatSplitTheWeight) {
  struct Row {
    std::optional<int> tp_dim;
    bool gtp_remat;
    DomainShape domain;
    ParamSharding sharding;
  };
  const std::vector<Row> table = {
      {0, true, {2, 2}, ParamSharding::kGtpRematAndTp},
      {1, true, {2, 2}, ParamSharding::kGtpRematAndTp},
      {{}, true, {2, 2}, ParamSharding::kGtpRemat},
      {{}, false, {2, 2}, ParamSharding::kReplicated},
      {0, true, {1, 4}, ParamSharding::kTp},
      {1, false, {1, 4}, ParamSharding::kTp},
      {{}, true, {1, 4}, ParamSharding::kReplicated},
      {0, true, {4, 1}, ParamSharding::kGtpRemat},
      {0, false, {4, 1}, ParamSharding::kReplicated},
      {0, true, {1, 1}, ParamSharding::kReplicated},
  };
  for (const Row& row : table) {
    const ParamShardSpec spec =
        ParamShardSpec::from_param(weight({64, 32}, row.tp_dim, row.gtp_remat), row.domain, 16);
    EXPECT_EQ(spec.sharding(), row.sharding) << row.domain.gtp_remat << " x " << row.domain.tp;
    EXPECT_EQ(spec.full_shape, (Shape{64, 32}));
  }
}

TEST(ShardSpec, TakesAWeightWithoutTpDimForReplicatedOverTp) {
  const ParamShardSpec spec = spec_of({32, 6}, std::nullopt, {2, 3});
  EXPECT_FALSE(spec.tp_dim.has_value());
  EXPECT_TRUE(spec.replicated_axes().has(AxisSet::kTp));
  for (int t = 0; t < 3; ++t) EXPECT_EQ(spec.extent(at(1, t)).rows, (Range{16, 16}));
}

TEST(ShardSpec, RefusesTpShardedParamThatIsReplicatedOverGtpRemat) {
  expect_parts(refusal(weight({64, 32}, 0, false), {4, 2}),
               {"layers.3.ffn.up", "tp_dim 0", "gtp_remat false", "(4)"});
  EXPECT_NE(refusal(weight({64, 32}, 1, false), {4, 2}), "");
  // The first refusal comes first: this one could not be cut over tp either.
  expect_parts(refusal(weight({63, 32}, 0, false), {4, 2}), {"gtp_remat false"});
}

TEST(ShardSpec, RefusesADimThatTpDoesNotDivide) {
  expect_parts(refusal(weight({9, 16}, 1, true), {1, 6}), {"layers.3.ffn.up", "dim 1", "(6)", "16"});
  expect_parts(refusal(weight({9, 16}, 0, true), {2, 2}), {"dim 0", "(2)", "9"});
  EXPECT_EQ(refusal(weight({9, 18}, 1, true), {1, 6}), "");
}

TEST(ShardSpec, RefusesARemainderOnlyWhereItMayNotPad) {
  expect_parts(refusal(weight({9, 16}, std::nullopt, true), {4, 1}, 0),
               {"layers.3.ffn.up", "dim 0", "(4)", "9"});
  EXPECT_EQ(refusal(weight({9, 16}, std::nullopt, true), {4, 1}, 1), "");
  EXPECT_EQ(refusal(weight({9, 16}, std::nullopt, false), {4, 1}, 0), "");
  EXPECT_EQ(refusal(weight({9, 16}, std::nullopt, true), {1, 4}, 0), "");
  // 12 rows over tp 2 are 6 TP-local ones, which 4 does not divide though it divides 12.
  EXPECT_NE(refusal(weight({12, 16}, 0, true), {4, 2}, 0), "");
}

TEST(ShardSpec, CutsRowsOverTpFirstAndOverGtpRematWithin) {
  const ParamShardSpec spec = spec_of({8, 4}, 0, {2, 2}, 1);
  // World rank = t + 2 g holds rows 0-1, 4-5, 2-3, 6-7.
  EXPECT_EQ(spec.extent(at(0, 0)).rows, (Range{0, 2}));
  EXPECT_EQ(spec.extent(at(0, 1)).rows, (Range{4, 2}));
  EXPECT_EQ(spec.extent(at(1, 0)).rows, (Range{2, 2}));
  EXPECT_EQ(spec.extent(at(1, 1)).rows, (Range{6, 2}));
  EXPECT_EQ(spec.extent(at(1, 1)).cols, (Range{0, 4}));
}

TEST(ShardSpec, CutsColumnsOverTpAndRowsOverGtpRemat) {
  const ParamShardSpec spec = spec_of({8, 4}, 1, {2, 2}, 1);
  EXPECT_EQ(spec.shard_shape(), (Shape{4, 2}));
  EXPECT_EQ(spec.extent(at(1, 0)).rows, (Range{4, 4}));
  EXPECT_EQ(spec.extent(at(1, 0)).cols, (Range{0, 2}));
  EXPECT_EQ(spec.extent(at(0, 1)).cols, (Range{2, 2}));
}

TEST(ShardSpec, KeepsTheTrueShapeWhereEveryTpBlockHasPadsOfItsOwn) {
  const ParamShardSpec rows = spec_of({26, 24}, 0, {2, 2}, 8);
  EXPECT_EQ(rows.pad_length, 3);
  EXPECT_EQ(rows.shard_shape(), (Shape{8, 24}));
  EXPECT_EQ(rows.full_shape, (Shape{26, 24}));  // 8 * 2 * 2 - 3 = 29 would count one pad block of two
  for (const int t : {0, 1}) {
    EXPECT_EQ(rows.extent(at(1, t)).rows, (Range{13 * t + 8, 5}));
    EXPECT_EQ(rows.extent(at(1, t)).pad_rows, 3);
    EXPECT_EQ(rows.extent(at(0, t)).pad_rows, 0);
  }
  const ParamShardSpec cols = spec_of({13, 32}, 1, {2, 2}, 8);
  EXPECT_EQ(cols.pad_length, 3);
  EXPECT_EQ(cols.shard_shape(), (Shape{8, 16}));
  EXPECT_EQ(cols.tp_local_shape(), (Shape{13, 16}));
  EXPECT_EQ(cols.full_shape, (Shape{13, 32}));
}

/// Every place of every rank's shard against the oracle, and every element against the set of ranks that must
/// hold it.
void expect_exact_cover(const Parameter& param, DomainShape domain, std::int64_t pad_for_alignment) {
  const ParamShardSpec spec = ParamShardSpec::from_param(param, domain, pad_for_alignment);
  const reference::ShardOracle oracle({param.shape.rows, param.shape.cols}, {param.tp_dim, param.gtp_remat},
                                      domain.gtp_remat, domain.tp, pad_for_alignment);
  ASSERT_EQ(spec.shard_shape(), (Shape{oracle.shard().row, oracle.shard().col}));
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<int>> holders;
  for (int g = 0; g < domain.gtp_remat; ++g) {
    for (int t = 0; t < domain.tp; ++t) {
      const ShardExtent extent = spec.extent(at(g, t));
      ASSERT_EQ(extent.rows.count + extent.pad_rows, oracle.shard().row);
      ASSERT_EQ(extent.cols.count, oracle.shard().col);
      for (std::int64_t r = 0; r < oracle.shard().row; ++r) {
        for (std::int64_t c = 0; c < oracle.shard().col; ++c) {
          const auto cell = oracle.element(g, t, {r, c});
          ASSERT_EQ(cell.has_value(), r < extent.rows.count);
          if (!cell) continue;
          ASSERT_EQ(*cell, (reference::Cell{extent.rows.begin + r, extent.cols.begin + c}));
          holders[{cell->row, cell->col}].insert(g * domain.tp + t);
        }
      }
    }
  }
  ASSERT_EQ(std::ssize(holders), param.shape.elements().value());
  const int copies = (param.gtp_remat ? 1 : domain.gtp_remat) * (param.tp_dim ? 1 : domain.tp);
  for (const auto& [cell, ranks] : holders) ASSERT_EQ(static_cast<int>(ranks.size()), copies);
}

TEST(ShardSpec, EveryElementIsHeldByExactlyTheRanksThatShareIt) {
  int checked = 0;
  for (int g = 1; g <= 8; ++g) {
    for (int t = 1; g * t <= 8; ++t) {
      for (const std::int64_t rows : {1, 2, 7, 8, 24, 31}) {
        for (const std::int64_t cols : {1, 6, 8, 12}) {
          for (const std::optional<int> tp_dim : {std::optional<int>(), std::optional(0), std::optional(1)}) {
            for (const bool tagged : {true, false}) {
              for (const std::int64_t pad : {0, 1, 2, 16}) {
                const Parameter param = weight({rows, cols}, tp_dim, tagged);
                if (!refusal(param, {g, t}, pad).empty()) continue;
                SCOPED_TRACE(testing::Message()
                             << rows << " x " << cols << ", tp_dim " << tp_dim.value_or(-1) << ", tagged "
                             << tagged << ", G " << g << ", T " << t << ", pad " << pad);
                ASSERT_NO_FATAL_FAILURE(expect_exact_cover(param, {g, t}, pad));
                ++checked;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 4000);
}

}  // namespace
}  // namespace muonbench
