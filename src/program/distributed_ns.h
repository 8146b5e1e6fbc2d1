// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "src/plan/distribution.h"
#include "src/program/emitter.h"

namespace muonbench {

/// Weights of one kind go through it in batches: laid out alike, and taken apart alike.
using DistributedKind = std::pair<ParamShardSpec, RowSplit>;
[[nodiscard]] DistributedKind distributed_kind(const Emitter& emitter, ParamIndex p);

/// Where and how NS of spread matrices runs.
struct DistributedWay {
  GroupKey group;
  GramSide side = GramSide::kRows;
  int queue = 0;
  NsScaling scaling = NsScaling::kByNs;
};

/// Emits NS of matrices whose rows or columns are spread over a group: parts on this rank's slices, and sums
/// over the group between them. One sum for the norms and one for each step, of the whole batch; under
/// precision medium Gram matrices travel in bf16.
class DistributedNs {
 public:
  DistributedNs(Emitter& emitter, DistributedWay way);

  /// In place, on a batch of weights of one full shape, all taken apart by `split`: `held` of each in one of
  /// `matrices`. All members of the group make the calls in one order, those too who hold no row.
  void run(const std::vector<Region>& matrices, const HeldPart& held, const RowSplit& split, Shape full);

 private:
  /// A piece is copied out and back; this rank may have none of its rows, and takes part all the same.
  void run_piece(const std::vector<Region>& matrices, const HeldPart& held, const RowSplit& split,
                 std::size_t piece, Shape full);
  /// `data`: a slice of each matrix, all of shape `slice`, of matrices of shape `matrix`.
  void run_slices(const std::vector<Region>& data, Shape slice, Shape matrix);
  /// Takes part in the sums with zeros.
  void run_empty(std::int64_t count, std::int64_t gram_side);
  void sum_up(std::vector<Region> regions);
  void sum_up_grams(const std::vector<Region>& grams);
  void add(Phase phase, Work work);
  [[nodiscard]] Region buffer(const char* name, Elements size, DType dtype);

  Emitter& emitter_;
  DistributedWay way_;
  int ranks_;
  DType travels_as_;  ///< a Gram matrix
};

}  // namespace muonbench
