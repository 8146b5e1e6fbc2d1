// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

/// Which elements of a gradient a rank gets the sum of, by group rank: {begin, end}.
struct Reduced {
  GroupKey group;
  BufferId buffer;
  std::vector<std::pair<std::int64_t, std::int64_t>> by_rank;
};

std::vector<Reduced> reduced_by(const Op& op, int ranks) {
  std::vector<Reduced> all;
  const auto stretch = [](Elements begin, Elements size) {
    return std::pair{begin.value(), (begin + size).value()};
  };
  if (const auto* all_reduce = std::get_if<AllReduceOp>(&op.work)) {
    EXPECT_EQ(all_reduce->ranks, ranks);
    for (const Region& region : all_reduce->regions)
      all.push_back({all_reduce->group, region.buffer,
                     std::vector(static_cast<std::size_t>(ranks), stretch(region.offset, region.size))});
    return all;
  }
  const auto& scatter = std::get<ReduceScatterOp>(op.work);
  for (const ReduceScatterItem& item : scatter.items) {
    all.push_back({scatter.group, item.buffer, {}});
    for (const Segment& segment : item.segments)
      all.back().by_rank.push_back(stretch(segment.offset, segment.size));
  }
  return all;
}

/// By parameter, each at most once.
std::map<ParamIndex, Reduced> reduced_params(const StepProgram& program, const RankGrid& grid) {
  std::map<ParamIndex, Reduced> found;
  for (const Op& op : program.before_step) {
    EXPECT_EQ(op.phase, Phase::kGradReduce);
    for (const Reduced& one : reduced_by(op, grid.group_size(*group_of(op)))) {
      const auto& slot = program[one.buffer].slot;
      EXPECT_TRUE(slot && slot->kind == StateKind::kGradient) << program[one.buffer].name;
      EXPECT_TRUE(found.emplace(slot->param, one).second) << program[one.buffer].name << " twice";
    }
  }
  return found;
}

/// Elements of its gradient that rank r's own state needs: rows that it keeps, or all of the shard with
/// Muon's pads.
std::pair<std::int64_t, std::int64_t> needed(const StepProgram& program, ParamIndex p) {
  const auto slot_of = [&](StateKind kind) -> const StateSlot* {
    for (const BufferSpec& buffer : program.buffers)
      if (buffer.slot && buffer.slot->param == p && buffer.slot->kind == kind) return &*buffer.slot;
    return nullptr;
  };
  const StateSlot* state = slot_of(StateKind::kMomentum);
  if (state == nullptr) state = slot_of(StateKind::kExpAvg);
  EXPECT_NE(state, nullptr);
  return {state->rows.begin * state->cols, state->rows.end() * state->cols};
}

GridShape grid_of(DomainShape domain, int dp) { return domain_grid(domain.gtp_remat, domain.tp, dp); }

/// Every rank gets the sum of what it keeps state for, from all replicas and from nobody else, and all of
/// them agree on who gets what.
void expect_final_gradients(const TestModel& model, const Mode& mode) {
  const std::vector<StepProgram> programs = model.programs(mode.name);
  std::vector<std::map<ParamIndex, Reduced>> reduced;
  for (const StepProgram& program : programs) reduced.push_back(reduced_params(program, model.grid()));
  for (std::size_t r = 0; r < programs.size(); ++r) {
    const WorldRank rank(static_cast<int>(r));
    for (const BufferSpec& buffer : programs[r].buffers) {
      if (!buffer.slot || buffer.slot->kind != StateKind::kGradient) continue;
      SCOPED_TRACE(buffer.name + " on rank " + std::to_string(r));
      const ParamIndex p = buffer.slot->param;
      const Family family = family_of(model.params()[p]);
      const GroupKey replicas{family, {AxisSet::kDp}};
      const auto mine = reduced[r].find(p);
      const auto [begin, end] = needed(programs[r], p);
      if (model.grid().data_parallel(family) == 1) {
        EXPECT_TRUE(mine == reduced[r].end());
        continue;
      }
      if (mine == reduced[r].end()) {
        EXPECT_EQ(begin, end) << "rows without their sum";
        continue;
      }
      EXPECT_EQ(mine->second.group, replicas);
      const auto me = static_cast<std::size_t>(model.grid().index_in_group(replicas, rank).value());
      const auto [got_begin, got_end] = mine->second.by_rank.at(me);
      EXPECT_LE(got_begin, begin);
      EXPECT_GE(got_end, end);
      for (const WorldRank other : model.grid().members(replicas, rank))
        EXPECT_EQ(reduced[static_cast<std::size_t>(other.value())].at(p).by_rank, mine->second.by_rank);
    }
  }
}

TEST(GradReduce, GivesEachRankTheSumOfWhatItKeepsStateForInEveryMode) {
  for (const DomainShape domain : all_domains()) {
    for (const int dp : {1, 2, 3}) {
      const TestModel model(mixed_params(), grid_of(domain, dp), {.pad_for_alignment = 3});
      for (const Mode& mode : modes()) {
        SCOPED_TRACE(testing::Message()
                     << mode.name << " on " << domain.gtp_remat << " x " << domain.tp << ", dp " << dp);
        ASSERT_NO_FATAL_FAILURE(expect_final_gradients(model, mode));
      }
    }
  }
}

TEST(GradReduce, OfExpertsIsOverTheReplicasOfTheirOwnGrid) {
  std::vector<Parameter> params = {muon("w", {24, 16}, 0), adam("t", {9, 4})};
  for (int i = 0; i < 4; ++i) {
    params.push_back(expert(muon("up." + std::to_string(i), {16, 8})));
    params.back().expert_set = "up";
    params.push_back(expert(adam("table." + std::to_string(i), {6, 8})));
    params.back().expert_set = "table";
  }
  for (const GridShape& shape :
       {GridShape{.tp = 2, .gtp_remat = 2, .dp = 2, .ep = 2}, GridShape{.tp = 2, .gtp_remat = 2, .ep = 2},
        GridShape{.dp = 4, .ep = 4}, GridShape{.tp = 2, .dp = 2, .pp = 2, .ep = 2}}) {
    const TestModel model(params, shape);
    for (const Mode& mode : modes()) {
      SCOPED_TRACE(testing::Message() << mode.name << ", dp " << shape.dp << ", ep " << shape.ep);
      ASSERT_NO_FATAL_FAILURE(expect_final_gradients(model, mode));
    }
  }
}

TEST(GradReduce, IsOneCollectiveForEachGroupOfReplicasAndKind) {
  std::vector<Parameter> params = mixed_params();
  params.push_back(expert(muon("up", {16, 8})));
  params.push_back(expert(adam("table", {16, 8})));
  const TestModel model(params, GridShape{.tp = 2, .gtp_remat = 2, .dp = 2});
  // Dense and expert replicas; sums whole for Muon's, by rows for Adam's.
  const std::map<std::string_view, std::multiset<std::size_t>> kinds = {{"layer_sharded", {0, 0, 1, 1}},
                                                                        {"duplicated", {0, 0, 1, 1}},
                                                                        {"adam_dim0", {1, 1}},
                                                                        {"adam_replicated", {0, 0}},
                                                                        {"layer_wise", {1, 1}}};
  for (const auto& [mode, expected] : kinds) {
    for (const StepProgram& program : model.programs(mode)) {
      std::multiset<std::size_t> found;
      std::set<std::pair<std::size_t, GroupKey>> different;
      for (const Op& op : program.before_step) {
        found.insert(std::holds_alternative<ReduceScatterOp>(op.work) ? 1 : 0);
        different.emplace(op.work.index(), *group_of(op));
      }
      EXPECT_EQ(found, expected) << mode;
      EXPECT_EQ(different.size(), found.size()) << mode;
    }
  }
}

TEST(GradReduce, AddsNothingToTheStepsCountsAndNoMemory) {
  for (const Mode& mode : modes()) {
    const TestModel model(mixed_params(), domain_grid(2, 2, 2));
    for (StepProgram& program : std::vector(model.programs(mode.name))) {
      const auto counts = [&] { return count_step(program, model.grid(), WorldRank(0)); };
      const StepCounts with = counts();
      const MemoryLedger ledger = ledger_of(program);
      EXPECT_FALSE(program.before_step.empty());
      for (const Op& op : program.before_step) {
        const Access access = access_of(op);
        EXPECT_EQ(access.reads, access.writes) << "in place";
      }
      program.before_step.clear();
      EXPECT_EQ(counts().collectives, with.collectives);
      EXPECT_EQ(counts().sent, with.sent);
      EXPECT_EQ(ledger_of(program).peak(), ledger.peak());
    }
  }
}

TEST(GradReduce, CountsEvenPartsBothWaysAndRowsOneWay) {
  // 15 x 4 on three replicas: 5 rows each; 7 x 4 by rows: 3, 3 and 1.
  const TestModel model({muon("w", {15, 4}), adam("t", {7, 4})}, domain_grid(1, 1, 3));
  const std::vector<StepProgram> programs = model.programs("layer_sharded");
  const std::int64_t rows[] = {3, 3, 1};
  for (int r = 0; r < 3; ++r) {
    const StepCounts counts =
        count_before_step(programs[static_cast<std::size_t>(r)], model.grid(), WorldRank(r));
    EXPECT_EQ(counts.collectives, 2);
    EXPECT_EQ(counts.sent, Bytes(4 * (40 + 40 + 4 * (7 - rows[r]))));
    EXPECT_EQ(counts.received, Bytes(4 * (40 + 40 + 2 * 4 * rows[r])));
  }
}

TEST(GradReduce, PassesParamsWithoutGradientBy) {
  const TestModel model({without_gradient(muon("w", {15, 4})), without_gradient(adam("t", {7, 4}))},
                        domain_grid(1, 1, 2));
  for (const Mode& mode : modes())
    for (const StepProgram& program : model.programs(mode.name)) EXPECT_TRUE(program.before_step.empty());
}

}  // namespace
}  // namespace muonbench
