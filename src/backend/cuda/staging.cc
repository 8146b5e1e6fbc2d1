// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/staging.h"

#include <algorithm>

#include "src/backend/cuda/own_block.h"

namespace muonbench::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void PinnedArea::reserve(std::size_t bytes) {
  if (bytes <= size_) return;
  memory_ = PinnedMemory();  // not both at a time
  size_ = 0;
  memory_ = make_pinned(bytes);
  size_ = bytes;
  ++generation_;
}

StagedPieces::StagedPieces(const std::vector<BoundSegment>& segments, int own, DType dtype)
    : piece_of_(segments.size(), -1) {
  for (std::size_t peer = 0; peer < segments.size(); ++peer) {
    const BoundSegment& segment = segments[peer];
    if (segment.size == 0 || peer == static_cast<std::size_t>(own)) continue;
    const auto same = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
      return piece.device == segment.data && piece.elements == segment.size;
    });
    piece_of_[peer] = static_cast<int>(same - pieces_.begin());
    if (same != pieces_.end()) continue;
    pieces_.push_back({segment.data, segment.size, size_, size_in_bytes(segment, dtype)});
    size_ += aligned(pieces_.back().bytes);
  }
}

std::vector<BoundSegment> StagedPieces::in(const PinnedArea& area) const {
  std::vector<BoundSegment> segments(piece_of_.size());
  for (std::size_t peer = 0; peer < segments.size(); ++peer) {
    if (piece_of_[peer] < 0) continue;
    const Piece& piece = pieces_[static_cast<std::size_t>(piece_of_[peer])];
    segments[peer] = {area.data() + piece.offset, piece.elements};
  }
  return segments;
}

void StagedPieces::copy_to_host(const PinnedArea& area, cudaStream_t stream) const {
  for (const Piece& piece : pieces_)
    MUONBENCH_CUDA(cudaMemcpyAsync(area.data() + piece.offset, piece.device, piece.bytes,
                                   cudaMemcpyDeviceToHost, stream));
}

void StagedPieces::copy_to_device(const PinnedArea& area, cudaStream_t stream) const {
  for (const Piece& piece : pieces_)
    MUONBENCH_CUDA(cudaMemcpyAsync(piece.device, area.data() + piece.offset, piece.bytes,
                                   cudaMemcpyHostToDevice, stream));
}

}  // namespace muonbench::cuda
