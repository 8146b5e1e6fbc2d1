// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

TEST(Order, CostsAreTheSameWhereItIsLeftOut) {
  const TestModel model(mixed_params(), domain_grid(2, 2, 2));
  for (const Mode& mode : modes()) {
    const auto programs = model.programs(mode.name);
    for (int r = 0; r < model.grid().world_size(); ++r) {
      const WorldRank rank(r);
      const StepProgram& ordered = programs[static_cast<std::size_t>(r)];
      const StepProgram counted = build_program(mode, model.inputs(), rank, Order::kLeftOut);
      EXPECT_EQ(ledger_of(counted).by_use, ledger_of(ordered).by_use) << mode.name;
      const StepCounts a = count_step(counted, model.grid(), rank),
                       b = count_step(ordered, model.grid(), rank);
      EXPECT_EQ(a.collectives, b.collectives);
      EXPECT_EQ(a.sent, b.sent);
      EXPECT_EQ(a.received, b.received);
      EXPECT_EQ(a.ns_flops, b.ns_flops);
      for (const Op& op : counted.ops) EXPECT_TRUE(op.after.empty());
    }
  }
}

/// Copies behind a program's last gather.
std::vector<Tile> unpacked(const StepProgram& program) {
  const auto* copy = std::get_if<CopyOp>(&program.ops.back().work);
  return copy == nullptr ? std::vector<Tile>{} : copy->tiles;
}

Elements elements_of(const std::vector<Tile>& tiles) {
  Elements sum;
  for (const Tile& tile : tiles) sum += tile.shape.elements();
  return sum;
}

TEST(ParamGather, RowsOfEvenlyDealtRanksAreOneTileOnEitherSideOfTheOwn) {
  const TestModel model({adam("a", {64, 8}), adam("b", {16, 4})}, domain_grid(1, 1, 8));
  const auto programs = model.programs("adam_dim0");
  for (std::size_t r = 0; r < programs.size(); ++r) {
    const std::vector<Tile> tiles = unpacked(programs[r]);
    EXPECT_EQ(tiles.size(), r == 0 || r == 7 ? 2U : 4U);
    EXPECT_EQ(elements_of(tiles), Elements((64 * 8 + 16 * 4) / 8 * 7));
  }
}

TEST(ParamGather, UnevenlyDealtRowsAllCome) {
  // Eight ranks have 2, 2, 2, 2, 2, 1, 0 and 0 rows of `b`: blocks of three sizes lie at unequal distances.
  const TestModel model({adam("a", {64, 8}), adam("b", {11, 4}), adam("c", {64, 2})}, domain_grid(1, 1, 8));
  const auto programs = model.programs("adam_dim0");
  const std::vector<std::int64_t> rows_of_b = {2, 2, 2, 2, 2, 1, 0, 0};
  for (std::size_t r = 0; r < programs.size(); ++r)
    EXPECT_EQ(elements_of(unpacked(programs[r])),
              Elements(64 * 8 / 8 * 7 + (11 - rows_of_b[r]) * 4 + 64 * 2 / 8 * 7));
}

}  // namespace
}  // namespace muonbench
