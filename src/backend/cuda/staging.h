// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/backend/cuda/cuda_resources.h"
#include "src/backend/peer_transfers.h"

namespace muonbench::cuda {

/// A page-locked area that grows. What points into it is stale once generation() has changed.
class PinnedArea {
 public:
  void reserve(std::size_t bytes);
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  [[nodiscard]] int generation() const { return generation_; }

 private:
  PinnedMemory memory_;
  std::size_t size_ = 0;
  int generation_ = 0;
};

/// Where the pieces of a transfer lie in an area. Pieces with one device address share one place: an
/// all_gather is staged once, not once per peer.
class StagedPieces {
 public:
  /// Of all segments but that of `own`, the rank itself.
  StagedPieces(const std::vector<BoundSegment>& segments, int own, DType dtype);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The segments as they lie in the area; the own one is empty.
  [[nodiscard]] std::vector<BoundSegment> in(const PinnedArea& area) const;
  void copy_to_host(const PinnedArea& area, cudaStream_t stream) const;
  void copy_to_device(const PinnedArea& area, cudaStream_t stream) const;

 private:
  struct Piece {
    void* device = nullptr;
    std::int64_t elements = 0;
    std::size_t offset = 0, bytes = 0;
  };
  std::vector<Piece> pieces_;  ///< to copy
  std::vector<int> piece_of_;  ///< by group rank; -1: nothing
  std::size_t size_ = 0;
};

}  // namespace muonbench::cuda
