// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/reductions.h"

#include <cstddef>

#include "src/base/check.h"
#include "src/base/even_part.h"

namespace muonbench {
namespace {

void add_piece(Reductions& work, const BoundSegment& segment, int root) {
  MUONBENCH_CHECK(segment.size >= 0, "{}: a segment of {} elements", work.collective, segment.size);
  MUONBENCH_CHECK(segment.size == 0 || segment.data != nullptr, "{}: {} elements without an address",
                  work.collective, segment.size);
  if (segment.size > 0 && work.ranks > 1) work.pieces.push_back({segment.data, segment.size, root});
}

}  // namespace

void count_collective(TrafficCounters& counters, const Reductions& work) {
  if (work.ranks == 1) return;
  std::int64_t everywhere = 0, here = 0, elsewhere = 0;
  for (const ReducedPiece& piece : work.pieces) {
    if (piece.root == ReducedPiece::kEveryRank)
      everywhere += piece.size;
    else
      (piece.root == work.rank ? here : elsewhere) += piece.size;
  }
  const std::int64_t others = work.ranks - 1;
  const std::int64_t part = even_part(everywhere, work.ranks, work.rank);
  const std::int64_t both_ways = (everywhere - part) + others * part;
  ++counters.collectives;
  counters.sent += bytes_of(Elements(both_ways + elsewhere), work.dtype);
  counters.received += bytes_of(Elements(both_ways + others * here), work.dtype);
}

Reductions reductions(const BoundAllReduce& work, int rank, int ranks) {
  Reductions all{"all_reduce", work.dtype, rank, ranks, {}};
  for (const BoundSegment& region : work.regions) add_piece(all, region, ReducedPiece::kEveryRank);
  return all;
}

Reductions reductions(const BoundReduceScatter& work, int rank, int ranks) {
  Reductions all{"reduce_scatter", DType::kFp32, rank, ranks, {}};
  for (const std::vector<BoundSegment>& item : work.items) {
    MUONBENCH_CHECK(item.size() == static_cast<std::size_t>(ranks),
                    "reduce_scatter of a group of {} ranks has {} segments", ranks, item.size());
    for (int root = 0; root < ranks; ++root) add_piece(all, item[static_cast<std::size_t>(root)], root);
  }
  return all;
}

}  // namespace muonbench
