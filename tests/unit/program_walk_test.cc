// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/program_walk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace muonbench {
namespace {

constexpr const char* kAllModes[] = {"layer_sharded", "duplicated", "blockwise", "distributed",
                                     "auto",          "layer_wise", "adam_dim0", "adam_replicated"};

std::string describe(std::string_view mode, DomainShape domain, std::int64_t pad) {
  return std::string(mode) + " on " + std::to_string(domain.gtp_remat) + " x " + std::to_string(domain.tp) +
         ", pad_for_alignment " + std::to_string(pad);
}

/// Walks one step and checks where NS ran: once for each rank at home, everywhere for replicated weights and
/// in duplicated, in blockwise wherever a shard is more than pads, and in layer_wise in the owner's replica
/// alone.
void walk(const TestModel& model, std::string_view mode) {
  ProgramWalk walk(model, model.programs(mode), mode == "blockwise" ? NsOn::kShards : NsOn::kFullMatrices);
  ASSERT_NO_THROW(walk.run());
  ASSERT_NO_THROW(walk.check_weights());
  const bool muon_mode = mode_named(mode).muon == MuonUse::kMuon;
  const bool everywhere = mode != "layer_sharded" && mode != "layer_wise";
  const bool is_distributed = mode == "distributed" || mode == "auto";
  for (int r = 0; r < model.grid().world_size(); ++r) {
    const WorldRank rank(r);
    for (int i = 0; i < model.params().size(); ++i) {
      const ParamIndex p(i);
      const Parameter& param = model.params()[p];
      const Coordinates at = model.grid().coordinates(family_of(param), rank);
      const bool by_owners = mode == "layer_wise";
      const OwnedParams& owned = model.inputs().layer_wise;
      const auto& home = by_owners ? owned.homes[p.at()] : model.inputs().homes[p.at()];
      const bool here = (everywhere || !home || home->is_at(at.place)) &&
                        is_held(param, model.inputs().residences[p.at()], at) &&
                        (!by_owners || owned.owners[p.at()] == at.dp);
      const bool wanted =
          muon_mode && param.optimizer == OptimizerKind::kMuon && param.has_gradient() && here;
      // Of slices the walk itself tells that those of all ranks make up a matrix.
      if (wanted && (is_distributed || (!everywhere && home && home->spread != NsSpread::kNone))) continue;
      ASSERT_EQ(walk.ns_runs(rank, p), wanted ? static_cast<int>(walk.matrices(rank, p).size()) : 0)
          << param.name << " on rank " << r;
    }
  }
}

TEST(StepProgram, EveryShardElementReachesItsHomeExactlyOnce) {
  for (const DomainShape domain : all_domains()) {
    for (const std::int64_t pad : {1, 3, 16}) {
      const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp),
                            {.pad_for_alignment = pad});
      for (const char* mode : kAllModes) {
        SCOPED_TRACE(describe(mode, domain, pad));
        ASSERT_NO_FATAL_FAILURE(walk(model, mode));
      }
    }
  }
}

TEST(StepProgram, ElementsReachTheirHomesWithoutAlignmentToo) {
  for (const DomainShape domain : all_domains()) {
    const TestModel model(
        {muon("a", {48, 10}, 0), muon("b", {24, 48}, 1), muon("c", {96, 6}), adam("e", {48, 5}, 0)},
        domain_grid(domain.gtp_remat, domain.tp), {.pad_for_alignment = 0});
    for (const char* mode : kAllModes) {
      SCOPED_TRACE(describe(mode, domain, 0));
      ASSERT_NO_FATAL_FAILURE(walk(model, mode));
    }
  }
}

TEST(StepProgram, ElementsReachAnyHomesInAnyBatches) {
  for (const DomainShape domain : all_domains()) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      const int batch = 1 + static_cast<int>(seed) % 3;
      const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp),
                            {.pad_for_alignment = 1, .homes = any_homes(seed), .ns_batch_size = batch});
      SCOPED_TRACE(describe("layer_sharded", domain, 1) + ", seed " + std::to_string(seed));
      ASSERT_NO_FATAL_FAILURE(walk(model, "layer_sharded"));
    }
  }
}

TEST(StepProgram, ElementsOfSpreadWeightsMeetNsOnceOnEachRankThatSharesIt) {
  for (const DomainShape domain : all_domains()) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      const TestModel model(seed % 2 == 0 ? mixed_params() : fused_params(),
                            domain_grid(domain.gtp_remat, domain.tp),
                            {.pad_for_alignment = seed < 2 ? 1 : 16,
                             .homes = any_spreads(seed),
                             .ns_batch_size = 1 + static_cast<int>(seed) % 3,
                             .exchange = seed % 3 == 0 ? ExchangeWay::kTwoStage : ExchangeWay::kFused,
                             .return_dtype = seed < 2 ? DType::kFp32 : DType::kBf16,
                             .waves = 1 + static_cast<int>(seed) % 3});
      SCOPED_TRACE(describe("layer_sharded", domain, model.pad_for_alignment()) + ", seed " +
                   std::to_string(seed));
      for (const char* mode : {"layer_sharded", "layer_wise"}) ASSERT_NO_FATAL_FAILURE(walk(model, mode));
    }
  }
}

TEST(StepProgram, FusedWeightsAreTakenApartAndPutTogetherAgain) {
  for (const DomainShape domain : all_domains()) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      const TestModel model(fused_params(), domain_grid(domain.gtp_remat, domain.tp),
                            {.pad_for_alignment = seed < 2 ? 1 : 16,
                             .homes = any_homes(seed),
                             .ns_batch_size = 1 + static_cast<int>(seed)});
      for (const char* mode : kAllModes) {
        SCOPED_TRACE(describe(mode, domain, model.pad_for_alignment()) + ", seed " + std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(walk(model, mode));
      }
    }
  }
}

TEST(StepProgram, EverythingAtHomeOnOneRankLeavesTheOthersWithoutMatrices) {
  const HomeRule last_rank = [](const std::vector<HomeCandidate>& candidates, DomainShape domain) {
    std::vector<std::optional<Home>> homes;
    for (const HomeCandidate& candidate : candidates) {
      const bool column = candidate.spec.sharding() == ParamSharding::kGtpRemat && domain.tp > 1;
      homes.emplace_back(
          Home{GtpRank(domain.gtp_remat - 1), column ? std::nullopt : std::optional(TpRank(domain.tp - 1))});
      if (candidate.spec.sharding() == ParamSharding::kReplicated) homes.back().reset();
    }
    return homes;
  };
  for (const DomainShape domain : all_domains()) {
    const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp), {.homes = last_rank});
    SCOPED_TRACE(describe("layer_sharded", domain, 16));
    ASSERT_NO_FATAL_FAILURE(walk(model, "layer_sharded"));
  }
}

TEST(StepProgram, WeightsInFp32TravelAsWell) {
  for (const DomainShape domain : all_domains()) {
    const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp),
                          {.param_dtype = DType::kFp32});
    for (const char* mode : kAllModes) {
      SCOPED_TRACE(describe(mode, domain, 16));
      ASSERT_NO_FATAL_FAILURE(walk(model, mode));
    }
  }
}

TEST(StepProgram, AdamRowsAreDealtOutOverDataParallelReplicasToo) {
  for (const DomainShape domain :
       {DomainShape{1, 1}, DomainShape{2, 1}, DomainShape{1, 2}, DomainShape{2, 2}}) {
    const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp, 2),
                          {.pad_for_alignment = 1});
    for (const char* mode : kAllModes) {
      SCOPED_TRACE(describe(mode, domain, 1));
      ASSERT_NO_FATAL_FAILURE(walk(model, mode));
    }
  }
}

TEST(StepProgram, WholeParamsReachTheirOwnersHomesAndTheWeightsAllReplicas) {
  std::vector<Parameter> params = mixed_params();
  for (int i = 0; i < 6; ++i) {
    params.push_back(expert(muon("up." + std::to_string(i), {24, 10}, i % 2)));
    params.push_back(expert(adam("table." + std::to_string(i), {14, 4})));
    params[params.size() - 2].expert_set = "up";
    params.back().expert_set = "table";
  }
  for (std::size_t i = 0; i < params.size(); ++i) params[i].stage = static_cast<int>(i) % 2;
  for (const GridShape& shape :
       {GridShape{.dp = 4, .pp = 2}, GridShape{.tp = 2, .gtp_remat = 2, .dp = 3, .pp = 2},
        GridShape{.tp = 2, .gtp_remat = 2, .dp = 2, .pp = 2, .ep = 2, .expert_gtp_remat = 2},
        GridShape{.tp = 2, .gtp_remat = 1, .dp = 6, .pp = 2, .ep = 3, .expert_tp = 2}}) {
    for (const auto& [policy, name] : kOwnerPolicyNames) {
      for (const auto& [adam_way, way] : kLayerWiseAdamNames) {
        const TestModel model(params, shape,
                              {.pad_for_alignment = 3, .owners = policy, .layer_wise_adam = adam_way});
        SCOPED_TRACE(testing::Message() << name << ", adam " << way << ", dp " << shape.dp << ", tp "
                                        << shape.tp << ", ep " << shape.ep);
        ASSERT_NO_FATAL_FAILURE(walk(model, "layer_wise"));
      }
    }
  }
}

TEST(StepProgram, ElementsReachTheirHomesOnAThousandRanks) {
  for (const DomainShape domain : {DomainShape{128, 8}, DomainShape{64, 16}}) {
    const TestModel model(
        {muon("a", {320, 4}, 0), muon("b", {100, 16}, 1), muon("c", {130, 3}), untagged(muon("r", {3, 5})),
         muon("d", {64, 9}, 0), adam("e", {512, 2}, 0), adam_vector("n", 700)},
        domain_grid(domain.gtp_remat, domain.tp), {.pad_for_alignment = 1});
    ASSERT_EQ(model.grid().world_size(), 1024);
    SCOPED_TRACE(describe("layer_sharded", domain, 1));
    ASSERT_NO_FATAL_FAILURE(walk(model, "layer_sharded"));
  }
}

// ---- What each communicator sees, without carrying anything out.

struct Call {
  std::size_t kind = 0;
  std::vector<Segment> sends, receives;
};
/// Collectives of each process group (by axes and first member) as each member has them, in order.
using Calls = std::map<std::pair<GroupKey, WorldRank>, std::map<int, std::vector<Call>>>;

Calls calls_of(const TestModel& model, const std::vector<StepProgram>& programs) {
  Calls calls;
  for (std::size_t r = 0; r < programs.size(); ++r) {
    for (const Op& op : programs[r].ops) {
      const auto group = group_of(op);
      if (!group) continue;
      const auto members = model.grid().members(*group, WorldRank(static_cast<int>(r)));
      Call call{op.work.index(), {}, {}};
      if (const auto* all_to_all = std::get_if<AllToAllOp>(&op.work)) {
        call.sends = all_to_all->sends;
        call.receives = all_to_all->receives;
      } else if (const auto* all_gather = std::get_if<AllGatherOp>(&op.work)) {
        call.sends.assign(members.size(), {all_gather->send.offset, all_gather->send.size});
        call.receives = all_gather->receives;
      } else {
        for (const Region& region : std::get<AllReduceOp>(op.work).regions) {
          const Segment whole{region.offset, region.size};
          call.sends.insert(call.sends.end(), members.size(), whole);
          call.receives.insert(call.receives.end(), members.size(), whole);
        }
      }
      const int index = model.grid().index_in_group(*group, WorldRank(static_cast<int>(r))).value();
      calls[{*group, members.front()}][index].push_back(call);
    }
  }
  return calls;
}

void expect_agreement(const TestModel& model, std::string_view mode) {
  for (const auto& [group, by_member] : calls_of(model, model.programs(mode))) {
    const auto size = static_cast<std::size_t>(model.grid().group_size(group.first));
    ASSERT_GT(size, 1U) << "a group of one makes no collective";
    ASSERT_EQ(by_member.size(), size) << "a member makes no call in " << name_of(group.first);
    for (const auto& [i, mine] : by_member) {
      for (const auto& [j, theirs] : by_member) {
        ASSERT_EQ(mine.size(), theirs.size()) << name_of(group.first);
        for (std::size_t n = 0; n < mine.size(); ++n) {
          ASSERT_EQ(mine[n].kind, theirs[n].kind) << "call " << n << " of " << name_of(group.first);
          ASSERT_EQ(mine[n].sends.at(static_cast<std::size_t>(j)).size,
                    theirs[n].receives.at(static_cast<std::size_t>(i)).size)
              << "call " << n << " of " << name_of(group.first) << ", " << i << " to " << j;
        }
      }
    }
  }
}

TEST(StepProgram, WhatRankISendsToJIsWhatJExpectsFromI) {
  for (const DomainShape domain : all_domains()) {
    for (const int dp : {1, 2}) {
      for (unsigned seed = 0; seed < 3; ++seed) {
        const TestModel model(mixed_params(), domain_grid(domain.gtp_remat, domain.tp, dp),
                              {.pad_for_alignment = 1, .homes = any_homes(seed)});
        for (const char* mode : kAllModes) {
          SCOPED_TRACE(describe(mode, domain, 1));
          ASSERT_NO_FATAL_FAILURE(expect_agreement(model, mode));
        }
      }
    }
  }
}

// ---- The walk itself must be able to fail.

TEST(ProgramWalk, SeesAFusedWeightThatIsNotTakenApart) {
  const TestModel fused_model({fused(muon("w", {24, 5}, 0), {2, 1, 1})}, domain_grid(2, 2));
  const TestModel whole_model({muon("w", {24, 5}, 0)}, domain_grid(2, 2));
  ProgramWalk walk(fused_model, whole_model.programs("duplicated"));
  EXPECT_THROW(walk.run(), WalkError);
}

TestModel small_model() {
  return TestModel({muon("a", {20, 6}, 0), muon("b", {7, 8}, 1), muon("c", {9, 5}), adam("e", {10, 4})},
                   domain_grid(2, 2), {.pad_for_alignment = 1});
}

/// Applies `change` to the first op of a kind on rank r that it accepts; none if it accepts none.
template <class Work, class Change>
std::optional<std::vector<StepProgram>> changed(const TestModel& model, std::size_t r, Change change) {
  std::vector<StepProgram> programs = model.programs("layer_sharded");
  for (Op& op : programs[r].ops) {
    auto* work = std::get_if<Work>(&op.work);
    if (work != nullptr && change(*work)) return programs;
  }
  return std::nullopt;
}

void walk_all(const TestModel& model, std::vector<StepProgram> programs) {
  ProgramWalk walk(model, std::move(programs));
  walk.run();
  walk.check_weights();
}

TEST(ProgramWalk, SeesTilesThatAreExchanged) {
  const TestModel model = small_model();
  const auto swap_sources = [](CopyOp& copy) {
    for (std::size_t i = 1; i < copy.tiles.size(); ++i) {
      if (copy.tiles[i].shape != copy.tiles[0].shape) continue;
      std::swap(copy.tiles[0].src, copy.tiles[i].src);
      std::swap(copy.tiles[0].src_offset, copy.tiles[i].src_offset);
      return true;
    }
    return false;
  };
  int changes = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    const auto programs = changed<CopyOp>(model, r, swap_sources);
    if (!programs) continue;
    ++changes;
    EXPECT_THROW(walk_all(model, *programs), WalkError) << r;
  }
  EXPECT_GE(changes, 2);
}

TEST(ProgramWalk, SeesSizesThatDisagreeAndRanksThatStayAway) {
  const TestModel model = small_model();
  const auto shorten = [](AllToAllOp& op) {
    for (Segment& segment : op.sends)
      if (segment.size > Elements(0)) return segment.size -= Elements(1), true;
    return false;
  };
  EXPECT_THROW(walk_all(model, changed<AllToAllOp>(model, 1, shorten).value()), WalkError);

  std::vector<StepProgram> programs = model.programs("layer_sharded");
  std::erase_if(programs[2].ops, [](const Op& op) { return op.phase == Phase::kStage1Reverse; });
  EXPECT_THROW(walk_all(model, std::move(programs)), WalkError);
}

TEST(ProgramWalk, SeesBuffersThatShareMemoryWhileBothLive) {
  const TestModel model = small_model();
  std::vector<StepProgram> programs = model.programs("layer_sharded");
  for (auto& [id, offset] : programs[0].arenas.at(MemoryUse::kExchange).offsets) offset = Bytes(0);
  EXPECT_THROW(walk_all(model, std::move(programs)), WalkError);
}

}  // namespace
}  // namespace muonbench
