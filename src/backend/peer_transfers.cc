// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/peer_transfers.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "src/base/check.h"

namespace muonbench {
namespace {

Bytes bytes_with_others(const std::vector<BoundSegment>& segments, int own, DType dtype) {
  Elements sum(0);
  for (std::size_t peer = 0; peer < segments.size(); ++peer)
    if (peer != static_cast<std::size_t>(own)) sum += Elements(segments[peer].size);
  return bytes_of(sum, dtype);
}

void check_segments(const PeerTransfers& transfers, const std::vector<BoundSegment>& segments, int size) {
  MUONBENCH_CHECK(segments.size() == static_cast<std::size_t>(size),
                  "{} of a group of {} ranks has {} segments", transfers.collective, size, segments.size());
  for (const BoundSegment& segment : segments) {
    MUONBENCH_CHECK(segment.size >= 0, "{}: a segment of {} elements", transfers.collective, segment.size);
    MUONBENCH_CHECK(segment.size == 0 || segment.data != nullptr, "{}: {} elements without an address",
                    transfers.collective, segment.size);
  }
}

PeerTransfers checked(PeerTransfers transfers, int size) {
  check_segments(transfers, transfers.sends, size);
  check_segments(transfers, transfers.receives, size);
  const auto own = static_cast<std::size_t>(transfers.rank);
  MUONBENCH_CHECK(transfers.sends[own].size == transfers.receives[own].size,
                  "{}: rank {} sends {} elements to itself and receives {}", transfers.collective,
                  transfers.rank, transfers.sends[own].size, transfers.receives[own].size);
  return transfers;
}

}  // namespace

Bytes PeerTransfers::sent_bytes() const { return bytes_with_others(sends, rank, dtype); }
Bytes PeerTransfers::received_bytes() const { return bytes_with_others(receives, rank, dtype); }

bool PeerTransfers::moves_own_block() const {
  const auto own = static_cast<std::size_t>(rank);
  return sends[own].size > 0 && sends[own].data != receives[own].data;
}

void PeerTransfers::copy_own_block() const {
  if (!moves_own_block()) return;
  const BoundSegment& from = sends[static_cast<std::size_t>(rank)];
  const BoundSegment& to = receives[static_cast<std::size_t>(rank)];
  std::memmove(to.data, from.data, static_cast<std::size_t>(bytes_of(Elements(from.size), dtype).value()));
}

void count_collective(TrafficCounters& counters, const PeerTransfers& work) {
  if (work.sends.size() == 1) return;
  ++counters.collectives;
  counters.sent += work.sent_bytes();
  counters.received += work.received_bytes();
}

PeerTransfers peer_transfers(const BoundAllToAll& work, int rank, int size) {
  return checked({"all_to_all", work.dtype, rank, work.sends, work.receives}, size);
}

PeerTransfers peer_transfers(const BoundAllGather& work, int rank, int size) {
  const std::vector<BoundSegment> sends(static_cast<std::size_t>(size), work.send);
  return checked({"all_gather", work.dtype, rank, sends, work.receives}, size);
}

}  // namespace muonbench
