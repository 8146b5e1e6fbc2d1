// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/backend/backend.h"

namespace muonbench {

/// Every rank's `size` numbers become their sum, on one rank or on all. Never empty.
struct ReducedPiece {
  static constexpr int kEveryRank = -1;
  void* data = nullptr;
  std::int64_t size = 0;
  int root = kEveryRank;  ///< group rank
};

/// A reducing collective as pieces, alike on all ranks but for addresses: the form in which transports carry
/// out both kinds. A group of one has none.
struct Reductions {
  std::string_view collective;  ///< "all_reduce", "reduce_scatter"; for messages
  DType dtype = DType::kFp32;
  int rank = 0;  ///< of this rank, in the group
  int ranks = 1;
  std::vector<ReducedPiece> pieces;

  /// True if this rank gets the sum.
  [[nodiscard]] bool arrives_here(const ReducedPiece& piece) const {
    return piece.root == ReducedPiece::kEveryRank || piece.root == rank;
  }
};

/// Adds one run of `work`. A group of one makes no collective.
void count_collective(TrafficCounters& counters, const Reductions& work);

/// Throws RuntimeFailure for a segment of negative size or without an address, and unless every item of a
/// reduce_scatter has one segment for each of the `ranks`.
[[nodiscard]] Reductions reductions(const BoundAllReduce& work, int rank, int ranks);
[[nodiscard]] Reductions reductions(const BoundReduceScatter& work, int rank, int ranks);

}  // namespace muonbench
