// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/cuda/cuda_check.h"
#include "src/backend/peer_transfers.h"

namespace muonbench::cuda {

[[nodiscard]] inline std::size_t size_in_bytes(const BoundSegment& segment, DType dtype) {
  return static_cast<std::size_t>(bytes_of(Elements(segment.size), dtype).value());
}

/// PeerTransfers::copy_own_block on the device.
inline void copy_own_block(const PeerTransfers& work, cudaStream_t stream) {
  if (!work.moves_own_block()) return;
  const BoundSegment& from = work.sends[static_cast<std::size_t>(work.rank)];
  const BoundSegment& to = work.receives[static_cast<std::size_t>(work.rank)];
  MUONBENCH_CUDA(
      cudaMemcpyAsync(to.data, from.data, size_in_bytes(from, work.dtype), cudaMemcpyDeviceToDevice, stream));
}

}  // namespace muonbench::cuda
