// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/rank_memory.h"
#include "tests/support/shard_oracle.h"
#include "tests/support/test_model.h"

namespace muonbench {

/// What NS works on: full matrices, or each rank's own shards.
enum class NsOn { kFullMatrices, kShards };

/// Carries out one step of all ranks on element ids, rank after rank up to its next collective. Knows from
/// the model alone which element belongs where, and throws WalkError at the first one that is not there:
///   momentum   puts the ids of the rank's own shard where the program says, zeros for pads;
///   NS         must find exactly a full matrix (or the true rows of a shard, see NsOn), row by row, and
///   marks
///              it done;
///   parts of NS on slices: sums begin as every rank's own and must have been added up before they are used;
///              whenever norms are, the slices of all ranks must make up exactly a full matrix;
///   update     must find exactly the rank's own shard, done, zeros for pads, and scale what NS did not;
///   collectives wait for all members; sizes of each pair must agree.
/// A rank that never gets through (its group is elsewhere) throws too.
class ProgramWalk {
 public:
  ProgramWalk(const TestModel& model, std::vector<StepProgram> programs, NsOn ns_on = NsOn::kFullMatrices);
  ProgramWalk(const ProgramWalk&) = delete;
  ProgramWalk& operator=(const ProgramWalk&) = delete;

  void run();

  /// After run(): every rank's weights are those of its shard, all updated once if they have gradients, pads
  /// untouched.
  void check_weights();
  /// How often rank r ran NS on parameter p.
  [[nodiscard]] int ns_runs(WorldRank r, ParamIndex p) const { return ns_runs_.at(index(r)).at(p.at()); }
  /// The elements, row by row, of each matrix that NS must find where rank r runs it on parameter p.
  [[nodiscard]] std::vector<std::vector<Id>> matrices(WorldRank r, ParamIndex p) const;

 private:
  struct Place {
    ParamIndex param;
    Range rows;
    friend bool operator==(const Place&, const Place&) = default;
  };

  static std::size_t index(WorldRank r) { return static_cast<std::size_t>(r.value()); }
  [[nodiscard]] const StepProgram& program(WorldRank r) const { return programs_[index(r)]; }
  [[nodiscard]] RankMemory& memory(WorldRank r) { return memories_[index(r)]; }

  [[nodiscard]] std::int64_t columns(ParamIndex p) const;  ///< of the matrices of p
  [[nodiscard]] Id shard_id(WorldRank r, ParamIndex p, std::int64_t row, std::int64_t col) const;
  /// What an element of p that NS left unscaled must be multiplied by.
  [[nodiscard]] NsScale scale_of(ParamIndex p, Id id) const;
  [[nodiscard]] Place place_of(WorldRank r, const Region& region) const;
  void fill_weights(WorldRank r);
  /// Runs local ops up to the next collective or the end.
  void advance(WorldRank r);
  void run_local(WorldRank r, const Op& op);
  [[nodiscard]] bool meet(WorldRank r);
  [[nodiscard]] const Op& next_op(WorldRank r) const {
    return program(r).ops[static_cast<std::size_t>(next_[index(r)])];
  }
  void exchange(const std::vector<WorldRank>& members);
  void exchange_segments(const std::vector<WorldRank>& members);
  void add_up(const std::vector<WorldRank>& members);
  /// The `i`-th slices that members have taken the norms of.
  void require_whole_matrix(const std::vector<WorldRank>& members, std::size_t i);
  void require_rows_of_matrix(const std::vector<Id>& slice, const NsSliceOp& op,
                              const std::vector<Id>& matrix);
  [[nodiscard]] ParamIndex param_of(Id id) const;

  void apply(WorldRank r, const MomentumOp& op);
  void apply(WorldRank r, const CopyOp& op);
  void apply(WorldRank r, const ZeroFillOp& op);
  void apply(WorldRank r, const NewtonSchulzOp& op);
  void apply(WorldRank r, const NsSliceOp& op);
  void apply(WorldRank r, const UpdateOp& op);
  void apply(WorldRank r, const AdamOp& op);
  static void require(bool condition, const std::string& what);

  const TestModel& model_;
  NsOn ns_on_;
  std::vector<StepProgram> programs_;
  std::vector<RankMemory> memories_;
  std::vector<int> next_;                        // op, by rank
  std::vector<Id> first_id_;                     // by parameter; one more at the end
  std::vector<reference::ShardOracle> oracles_;  // by parameter
  std::vector<std::vector<int>> ns_runs_;
  struct Slices {
    const NsSliceOp* op = nullptr;
    std::vector<std::vector<Id>> elements;  // of each matrix of the batch
  };
  std::vector<Slices> slices_;                             // by rank, from its sums of squares to their sum
  std::map<std::pair<GroupKey, WorldRank>, int> waiting_;  // by group and its first member
};

}  // namespace muonbench
