// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/program/distribution.h"
#include "src/program/emitter.h"

namespace muonbench {

/// Emits NS of matrices whose rows or columns are spread over a group: parts on this rank's slices, and sums
/// over the group between them. One sum for the norms and one for each step, of the whole batch; under
/// precision medium Gram matrices travel in bf16.
class DistributedNs {
 public:
  DistributedNs(Emitter& emitter, GroupKey group, GramSide side);

  /// In place, on `data`: a slice of each matrix of a batch, all of shape `slice`, of matrices of shape
  /// `matrix`. All members of the group make the calls in one order, those too whose slices have no row.
  void run(const std::vector<Region>& data, Shape slice, Shape matrix);

 private:
  /// Takes part in the sums with zeros.
  void run_empty(std::int64_t count, std::int64_t gram_side);
  void sum_up(std::vector<Region> regions);
  void sum_up_grams(const std::vector<Region>& grams);
  [[nodiscard]] Region buffer(const char* name, Elements size, DType dtype);

  Emitter& emitter_;
  GroupKey group_;
  int ranks_;
  GramSide side_;
  DType travels_as_;  ///< a Gram matrix
};

}  // namespace muonbench
