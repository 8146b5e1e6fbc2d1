// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/backend/backend.h"

namespace muonbench::cuda {

/// One value of T for each rank of the group, over a communicator of host memory: what each of them has for
/// this rank, by group rank. Collective.
template <class T>
[[nodiscard]] std::vector<T> exchange_on_host(Comm& host, std::vector<T> for_peers) {
  constexpr std::size_t kWordBytes = 2;  // of a bf16, whose bits travel as they are
  static_assert(sizeof(T) % kWordBytes == 0);
  constexpr auto kWords = static_cast<std::int64_t>(sizeof(T) / kWordBytes);
  std::vector<T> from_peers(for_peers.size());
  BoundAllToAll work{DType::kBf16, {}, {}};
  for (std::size_t peer = 0; peer < for_peers.size(); ++peer) {
    work.sends.push_back({&for_peers[peer], kWords});
    work.receives.push_back({&from_peers[peer], kWords});
  }
  const std::unique_ptr<Transfer> transfer = host.prepare(std::move(work));
  transfer->start(Queue{});
  transfer->wait(Queue{});
  return from_peers;
}

}  // namespace muonbench::cuda
