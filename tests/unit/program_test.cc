// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

using Sum = std::int64_t StepCounts::*;
std::int64_t total(const std::vector<StepCounts>& counts, Sum member) {
  std::int64_t sum = 0;
  for (const StepCounts& one : counts) sum += one.*member;
  return sum;
}
std::int64_t total_sent(const std::vector<StepCounts>& counts) {
  Bytes sent, received;
  for (const StepCounts& one : counts) {
    sent += one.sent;
    received += one.received;
  }
  EXPECT_EQ(sent, received);
  return sent.value();
}

// ---- Traffic, in units of one weight's fp32 bytes over the whole network. 96 x 96 divides everywhere: no
// pads.

constexpr std::int64_t kSide = 96, kUnit = kSide * kSide * 4;

std::int64_t bytes_of_one(const Parameter& param, DomainShape domain, std::string_view mode) {
  const TestModel model({param}, domain_grid(domain.gtp_remat, domain.tp), {.pad_for_alignment = 1});
  return total_sent(model.counts(mode));
}

TEST(Traffic, MatchesThePublishedTableForWeightsThatBothAxesSplit) {
  struct Row {
    DomainShape domain;
    double duplicated, two_stage;
  };
  for (const Row& row :
       {Row{{8, 1}, 7, 1.75}, Row{{4, 2}, 7, 2.5}, Row{{8, 2}, 15, 2.75}, Row{{2, 2}, 3, 2}}) {
    for (const int tp_dim : {0, 1}) {
      const Parameter param = muon("w", {kSide, kSide}, tp_dim);
      EXPECT_EQ(static_cast<double>(bytes_of_one(param, row.domain, "duplicated")), row.duplicated * kUnit);
      EXPECT_EQ(static_cast<double>(bytes_of_one(param, row.domain, "layer_sharded")), row.two_stage * kUnit);
    }
  }
}

TEST(Traffic, FollowsTheFormulasForEveryShardingOnEveryDomain) {
  for (const DomainShape domain : all_domains()) {
    const std::int64_t g = domain.gtp_remat, t = domain.tp;
    SCOPED_TRACE(testing::Message() << g << " x " << t);
    for (const int tp_dim : {0, 1}) {
      const Parameter both = muon("w", {kSide, kSide}, tp_dim);
      EXPECT_EQ(bytes_of_one(both, domain, "duplicated"), (g * t - 1) * kUnit);
      // 2 [(G-1)/G + (T-1)/T], times G T to stay whole.
      EXPECT_EQ(bytes_of_one(both, domain, "layer_sharded") * g * t, 2 * ((g - 1) * t + (t - 1) * g) * kUnit);
    }
    const Parameter rows = muon("w", {kSide, kSide});
    EXPECT_EQ(bytes_of_one(rows, domain, "duplicated"), t * (g - 1) * kUnit);
    EXPECT_EQ(bytes_of_one(rows, domain, "layer_sharded") * g, 2 * t * (g - 1) * kUnit);
    const Parameter whole = untagged(muon("w", {kSide, kSide}));
    EXPECT_EQ(bytes_of_one(whole, domain, "duplicated"), 0);
    EXPECT_EQ(bytes_of_one(whole, domain, "layer_sharded"), 0);
  }
}

TEST(Traffic, PadsTravelOverGtpRematAndStayBehindOverTp) {
  // 26 x 24, tp_dim 0, G = T = 2, alignment 16: shards of 8 x 24, TP-local 13 x 24.
  const TestModel model({muon("w", {26, 24}, 0)}, domain_grid(2, 2), {.pad_for_alignment = 8});
  const std::int64_t shard = 8 * 24 * 4, tp_local = 13 * 24 * 4;
  EXPECT_EQ(total_sent(model.counts("layer_sharded")), 2 * (2 * shard + tp_local));
  EXPECT_EQ(total_sent(model.counts("duplicated")), 4 * shard + 4 * tp_local);
}

// ---- Collectives

TEST(Collectives, AreTwoPerStageAndTpDimWhateverTheNumberOfWeights) {
  for (const DomainShape domain : all_domains()) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      std::vector<Parameter> params = mixed_params();
      std::erase_if(params, [](const Parameter& param) { return param.optimizer == OptimizerKind::kAdam; });
      const TestModel model(params, domain_grid(domain.gtp_remat, domain.tp), {.homes = any_homes(seed)});
      const auto counts = model.counts("layer_sharded");
      for (int r = 0; r < model.grid().world_size(); ++r) {
        // Dims of what is at home on this row of the domain, whichever tp peer it is.
        std::set<int> dims;
        for (int i = 0; i < model.params().size(); ++i) {
          const auto& home = model.inputs().homes[static_cast<std::size_t>(i)];
          const Parameter& param = model.params()[ParamIndex(i)];
          if (home && home->g.value() == r / domain.tp && param.tp_dim && domain.tp > 1)
            dims.insert(*param.tp_dim);
        }
        const auto expected = (domain.gtp_remat > 1 ? 2 : 0) + 2 * std::ssize(dims);
        EXPECT_EQ(counts.at(static_cast<std::size_t>(r)).collectives, expected)
            << "rank " << r << " of " << domain.gtp_remat << " x " << domain.tp;
      }
    }
  }
}

TEST(Collectives, AreOneGatherPerWeightAndAxisInDuplicated) {
  const std::vector<Parameter> params = {muon("a", {48, 48}, 0), muon("b", {48, 48}, 1), muon("c", {48, 48}),
                                         untagged(muon("d", {48, 48}))};
  const auto of_every_rank = [&](DomainShape domain, std::int64_t expected) {
    const TestModel model(params, domain_grid(domain.gtp_remat, domain.tp));
    for (const StepCounts& counts : model.counts("duplicated")) EXPECT_EQ(counts.collectives, expected);
  };
  of_every_rank({2, 2}, 2 + 2 + 1 + 0);
  of_every_rank({4, 1}, 1 + 1 + 1 + 0);
  of_every_rank({1, 1}, 0);
  const TestModel tp_only({muon("a", {48, 48}, 0), muon("b", {48, 48}, 1), muon("c", {48, 48})},
                          domain_grid(1, 4));
  for (const StepCounts& counts : tp_only.counts("duplicated")) EXPECT_EQ(counts.collectives, 2);
}

TEST(Collectives, OfADenseAndAnExpertGroupAddUp) {
  // Dense 8 x 2 with both tp dims: 6. Experts over expert_gtp_remat 2 without expert tp: 2.
  const GridShape shape{
      .tp = 2, .gtp_remat = 8, .dp = 1, .pp = 1, .ep = 8, .expert_tp = 1, .expert_gtp_remat = 2};
  std::vector<Parameter> params;
  for (int i = 0; i < 16; ++i) {
    params.push_back(muon("rows." + std::to_string(i), {256, 64}, 0));
    params.push_back(muon("cols." + std::to_string(i), {256, 64}, 1));
    params.push_back(expert(muon("expert." + std::to_string(i), {64, 32})));
    params.back().expert_set = "expert";
  }
  const TestModel model(params, shape);
  const auto counts = model.counts("layer_sharded");
  for (const StepCounts& one : counts) EXPECT_EQ(one.collectives, 8);
  // Each weight is orthogonalised once: the ranks of another ep index do not hold an expert at all.
  EXPECT_EQ(total(counts, &StepCounts::ns_calls), 16 + 16 + 16);
}

TEST(Collectives, OfParamGatherAreOnePerGroupOfRanksThatHoldRows) {
  // 37 rows over G = 4, sixteen each: ranks 0 to 2 hold 16, 16 and 5, which two TP peers share; ranks of g =
  // 3 hold none.
  const TestModel model({adam("a", {37, 5}), adam("b", {40, 3})}, domain_grid(4, 2));
  const auto counts = model.counts("adam_dim0");
  for (std::size_t r = 0; r < counts.size(); ++r) EXPECT_EQ(counts[r].collectives, r / 2 < 3 ? 1 : 0) << r;
  // Each sends its half to the other in the weights' bf16: rows 8 + 8, 8 + 8 and 3 + 4 of rank t = 0, 2 + 4
  // of t = 1.
  EXPECT_EQ(counts[0].sent, Bytes(2 * (8 * 5 + 8 * 3)));
  EXPECT_EQ(counts[4].sent, Bytes(2 * (3 * 5 + 4 * 3)));
  EXPECT_EQ(counts[5].sent, Bytes(2 * (2 * 5 + 4 * 3)));
}

// ---- Transient bytes of one stage over a group of size S, beside an own block of 4 H each way: 4 (L - H)
// and 4 (S - 1) H forward, 4 (S - 1) H and 4 (L - H) reverse.

TEST(TransientBytes, OfEachStageAreTheSumsOfLocalShards) {
  const TestModel model(
      {muon("a", {40, 8}, 0), muon("b", {10, 12}, 1), muon("c", {21, 4}), muon("d", {8, 6}, 0)},
      domain_grid(4, 2), {.pad_for_alignment = 1});
  // TP-local rows 20, 10, 21, 4 over G = 4, padded to 20, 12, 24, 4; columns 8, 6, 4, 6.
  const std::vector<std::int64_t> shard = {5 * 8, 3 * 6, 6 * 4, 1 * 6};
  const std::vector<std::int64_t> tp_local = {20 * 8, 10 * 6, 0, 4 * 6};  // c does not go on over tp
  const std::vector<int> tp_dim = {0, 1, -1, 0};
  const auto programs = model.programs("layer_sharded");
  for (std::size_t r = 0; r < programs.size(); ++r) {
    const int g = static_cast<int>(r) / 2, t = static_cast<int>(r) % 2;
    std::int64_t l = 0, h = 0, l2[2] = {0, 0}, h2[2] = {0, 0};
    for (std::size_t i = 0; i < 4; ++i) {
      const Home home = *model.inputs().homes[i];
      l += shard[i];
      if (home.g.value() != g) continue;
      h += shard[i];
      if (tp_dim[i] < 0) continue;
      l2[tp_dim[i]] += tp_local[i];
      if (home.t->value() == t) h2[tp_dim[i]] += tp_local[i];
    }
    struct Stage {
      std::int64_t send, receive, own;
      bool operator==(const Stage&) const = default;
    };
    std::vector<Stage> expected = {{4 * (l - h), 4 * 3 * h, 4 * h}};
    std::int64_t own = 2 * 4 * h;
    for (const int dim : {0, 1})
      if (l2[dim] > 0) expected.push_back({4 * (l2[dim] - h2[dim]), 4 * h2[dim], 4 * h2[dim]});
    for (int dim : {0, 1}) {
      if (l2[dim] > 0) expected.push_back({4 * h2[dim], 4 * (l2[dim] - h2[dim]), 4 * h2[dim]});
      own += 2 * 4 * h2[dim];
    }
    expected.push_back({4 * 3 * h, 4 * (l - h), 4 * h});
    std::vector<Stage> got;
    std::int64_t all = 0;
    for (const BufferSpec& buffer : programs[r].buffers)
      if (buffer.use == MemoryUse::kExchange) all += buffer.bytes().value();
    for (const Op& op : programs[r].ops)
      if (const auto* exchange = std::get_if<AllToAllOp>(&op.work)) {
        got.push_back({programs[r][exchange->send].bytes().value(),
                       programs[r][exchange->receive].bytes().value(), 4 * exchange->in_place.size.value()});
        all -= got.back().send + got.back().receive;
      }
    EXPECT_EQ(got, expected) << "rank " << r;
    EXPECT_EQ(all, own) << "rank " << r;
  }
}

// ---- NS

TEST(NsCalls, CountTheRanksThatOrthogonaliseEachSharding) {
  for (const DomainShape domain : all_domains()) {
    const std::int64_t ranks = domain.size(), g = domain.gtp_remat, t = domain.tp;
    SCOPED_TRACE(testing::Message() << g << " x " << t);
    struct Row {
      Parameter param;
      std::int64_t layer_sharded;
    };
    const std::vector<Row> table = {{muon("w", {48, 24}, 0), 1},
                                    {muon("w", {48, 24}, 1), 1},
                                    {muon("w", {48, 24}), g > 1 ? t : ranks},
                                    {untagged(muon("w", {48, 24})), ranks}};
    for (const Row& row : table) {
      const TestModel model({row.param}, domain_grid(domain.gtp_remat, domain.tp));
      EXPECT_EQ(total(model.counts("layer_sharded"), &StepCounts::ns_calls), row.layer_sharded);
      EXPECT_EQ(total(model.counts("duplicated"), &StepCounts::ns_calls), ranks);
      // 5 (4 m^2 M + 2 m^3), m = 24, M = 48.
      EXPECT_EQ(total(model.counts("duplicated"), &StepCounts::ns_flops),
                ranks * 5 * (4 * 24 * 24 * 48 + 2 * 24 * 24 * 24));
      EXPECT_EQ(total(model.counts("layer_sharded"), &StepCounts::ns_cost), row.layer_sharded * 48 * 24 * 24);
      EXPECT_EQ(total(model.counts("adam_dim0"), &StepCounts::ns_calls), 0);
    }
  }
}

TEST(NsCalls, TpPeersOfAColumnBatchTpCompleteMatricesAlike) {
  // (12, 8) of both kinds: mixed batches would differ by peer, as TP-sharded ones are at home on one peer
  // each.
  std::vector<Parameter> params;
  for (int i = 0; i < 5; ++i) {
    params.push_back(muon("rows." + std::to_string(i), {12, 8}));
    params.push_back(muon("both." + std::to_string(i), {12, 8}, 0));
  }
  for (unsigned seed = 0; seed < 8; ++seed) {
    const TestModel model(params, domain_grid(2, 2),
                          {.pad_for_alignment = 1, .homes = any_homes(seed), .ns_batch_size = 2});
    const auto programs = model.programs("layer_sharded");
    for (const std::size_t g : {0U, 1U}) {
      std::int64_t complete = 0;
      for (int i = 0; i < model.params().size(); i += 2)
        if (model.inputs().homes[static_cast<std::size_t>(i)]->g.value() == static_cast<int>(g)) ++complete;
      // The last batches of every peer are its TP-complete matrices: equally many, cut alike.
      for (const std::size_t t : {0U, 1U}) {
        std::vector<std::size_t> batches;
        for (const Op& op : programs[2 * g + t].ops)
          if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work)) batches.push_back(ns->items.size());
        std::int64_t rest = complete;
        std::vector<std::size_t> expected;
        for (; rest > 0; rest -= 2) expected.push_back(rest > 1 ? 2 : 1);
        ASSERT_GE(batches.size(), expected.size());
        EXPECT_TRUE(std::equal(expected.rbegin(), expected.rend(), batches.rbegin())) << "seed " << seed;
      }
    }
  }
}

// ---- Parameters without gradient

TEST(WithoutGradient, NoOpTouchesTheParamAndNoMomentIsKept) {
  for (const Mode& mode : modes()) {
    const TestModel model({muon("a", {48, 24}, 0), without_gradient(muon("w3", {48, 24}, 0)),
                           adam("e", {48, 4}), without_gradient(adam("e3", {48, 4}))},
                          domain_grid(2, 2));
    for (const StepProgram& program : model.programs(mode.name)) {
      std::set<int> touched;
      for (const Op& op : program.ops) {
        const Access access = access_of(op);
        for (const auto* ids : {&access.reads, &access.writes})
          for (const BufferId id : *ids)
            if (program[id].slot) touched.insert(program[id].slot->param.value());
      }
      EXPECT_EQ(touched, (std::set{0, 2})) << mode.name;
      for (const int frozen : {1, 3}) {
        std::set<StateKind> kinds;
        for (const BufferSpec& buffer : program.buffers)
          if (buffer.slot && buffer.slot->param.value() == frozen) kinds.insert(buffer.slot->kind);
        EXPECT_EQ(kinds, (std::set{StateKind::kWeight, StateKind::kMaster})) << mode.name;
      }
    }
  }
}

TEST(WithoutGradient, OtherParamsTravelAsIfItWereNotThere) {
  const std::vector<Parameter> others = {muon("a", {48, 24}, 0), muon("b", {31, 24}, 1), muon("c", {20, 4})};
  std::vector<Parameter> all = others;
  all.insert(all.begin() + 1, without_gradient(muon("w3", {48, 24}, 0)));
  for (const char* mode : {"layer_sharded", "duplicated", "blockwise", "distributed", "auto"}) {
    const TestModel with(all, domain_grid(2, 2)), without(others, domain_grid(2, 2));
    const auto a = with.counts(mode), b = without.counts(mode);
    for (std::size_t r = 0; r < a.size(); ++r) {
      EXPECT_EQ(a[r].collectives, b[r].collectives);
      EXPECT_EQ(a[r].sent, b[r].sent);
      EXPECT_EQ(a[r].ns_calls, b[r].ns_calls);
    }
  }
}

TEST(WithoutGradient, AGroupWithoutAnyMakesNoCollectiveAndRunsNothing) {
  for (const Mode& mode : modes()) {
    const TestModel model({without_gradient(muon("a", {48, 24}, 0)), without_gradient(adam("e", {48, 4}))},
                          domain_grid(2, 2));
    for (const StepProgram& program : model.programs(mode.name))
      EXPECT_TRUE(program.ops.empty()) << mode.name;
  }
}

}  // namespace
}  // namespace muonbench
