// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/backend/comm.h"
#include "src/backend/cuda/cuda_device.h"
#include "src/backend/peer_transfers.h"

namespace muonbench::cuda {

/// Streams that a communicator has for itself: what travels, and own blocks beside it. Peers wait for it, so
/// their priority is high.
struct TravelStreams {
  OwnedStream between_ranks = make_high_priority_stream(), own_copies = make_high_priority_stream();
};

/// A transfer that runs in its communicator's stream; the host does not wait for it. What it does there is
/// the derived class's.
class StreamTransfer : public Transfer {
 public:
  enum class OwnBlock { kMoves, kStays };
  /// Device and streams outlive it.
  StreamTransfer(const CudaDevice& device, const TravelStreams& streams, OwnBlock own)
      : device_(device), streams_(streams), ready_(make_event()), done_(make_event()) {
    if (own == OwnBlock::kMoves) copied_ = make_event();
  }

  void start(Queue queue) final;
  void wait(Queue queue) final;

 protected:
  [[nodiscard]] static OwnBlock own_block_of(const PeerTransfers& work) {
    return work.moves_own_block() ? OwnBlock::kMoves : OwnBlock::kStays;
  }
  /// The own block, which no peer waits for, is copied beside the rest, if it moves.
  void enqueue_own_copy(const PeerTransfers& work);
  [[nodiscard]] cudaStream_t stream() const { return streams_.between_ranks.get(); }

 private:
  virtual void enqueue() = 0;

  const CudaDevice& device_;
  const TravelStreams& streams_;
  OwnedEvent ready_, done_;
  OwnedEvent copied_;  ///< none if the own block stays
};

}  // namespace muonbench::cuda
