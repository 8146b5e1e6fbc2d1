// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/backend/backend.h"

namespace muonbench {

/// A collective as what one rank sends to and receives from each peer: the form in which transports carry out
/// all of them.
struct PeerTransfers {
  std::string_view collective;  ///< "all_to_all", "all_gather"; for messages
  DType dtype = DType::kFp32;
  int rank = 0;                               ///< of this rank, in the group
  std::vector<BoundSegment> sends, receives;  ///< by group rank

  /// Payload that leaves, or enters, this rank; its own block is not counted.
  [[nodiscard]] Bytes sent_bytes() const;
  [[nodiscard]] Bytes received_bytes() const;

  /// Whether there is an own block that does not lie in its place already.
  [[nodiscard]] bool moves_own_block() const;
  /// Copies the own block on the host, if it moves.
  void copy_own_block() const;
};

/// Adds one run of `work`. A group of one makes no collective.
void count_collective(TrafficCounters& counters, const PeerTransfers& work);

/// Throws RuntimeFailure unless there is one segment for each of the `size` ranks, none of negative size or
/// without an address, and the own block is received in the size in which it is sent.
[[nodiscard]] PeerTransfers peer_transfers(const BoundAllToAll& work, int rank, int size);
[[nodiscard]] PeerTransfers peer_transfers(const BoundAllGather& work, int rank, int size);

}  // namespace muonbench
