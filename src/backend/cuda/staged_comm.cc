// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/staged_comm.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "src/backend/cuda/own_block.h"
#include "src/backend/cuda/staging.h"
#include "src/backend/reductions.h"
#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

/// A transfer whose data goes on to the device when the peers have been waited for.
class StagedWork : public Transfer {
 public:
  /// Waits for the peers, then sends what they sent on to the device.
  virtual void complete() = 0;
};

/// What a communicator and its transfers share; it lives until the last of them is gone.
struct Staging {
  CudaDevice& device;
  std::unique_ptr<Comm> host;
  PinnedArea sends, receives;
  OwnedEvent unloaded;              ///< the receive area was copied to the device
  StagedWork* in_flight = nullptr;  ///< started, and its data not yet on its way to the device

  /// Makes the areas large enough. No transfer may be using them.
  void reserve(std::size_t send_bytes, std::size_t receive_bytes) {
    MUONBENCH_CUDA(cudaEventSynchronize(unloaded.get()));
    sends.reserve(send_bytes);
    receives.reserve(receive_bytes);
  }
};

class StagedTransfer final : public StagedWork {
 public:
  StagedTransfer(std::shared_ptr<Staging> staging, PeerTransfers work)
      : staging_(std::move(staging)),
        work_(std::move(work)),
        sends_(work_.sends, work_.rank, work_.dtype),
        receives_(work_.receives, work_.rank, work_.dtype),
        done_(make_event()) {
    if (staging_->in_flight != nullptr) staging_->in_flight->complete();
    staging_->reserve(sends_.size(), receives_.size());
  }
  StagedTransfer(const StagedTransfer&) = delete;
  StagedTransfer& operator=(const StagedTransfer&) = delete;
  StagedTransfer(StagedTransfer&&) = delete;
  StagedTransfer& operator=(StagedTransfer&&) = delete;
  ~StagedTransfer() override {
    if (staging_->in_flight == this) staging_->in_flight = nullptr;
  }

  void start(Queue queue) override {
    if (staging_->in_flight != nullptr) staging_->in_flight->complete();
    prepare_host();
    queue_ = queue;
    const cudaStream_t stream = staging_->device.stream(queue);
    copy_own_block(work_, stream);
    sends_.copy_to_host(staging_->sends, stream);
    staging_->device.synchronize(queue);
    // Peers write into the receive area from now on.
    MUONBENCH_CUDA(cudaEventSynchronize(staging_->unloaded.get()));
    host_->start(Queue{});
    staging_->in_flight = this;
  }

  void wait(Queue queue) override {
    if (staging_->in_flight == this) complete();
    MUONBENCH_CUDA(cudaStreamWaitEvent(staging_->device.stream(queue), done_.get(), 0));
  }

  void complete() override {
    staging_->in_flight = nullptr;
    host_->wait(Queue{});
    const cudaStream_t stream = staging_->device.stream(queue_);
    receives_.copy_to_device(staging_->receives, stream);
    MUONBENCH_CUDA(cudaEventRecord(staging_->unloaded.get(), stream));
    MUONBENCH_CUDA(cudaEventRecord(done_.get(), stream));
  }

 private:
  /// The transfer of the areas. They may have grown, and moved, since the last start.
  void prepare_host() {
    const std::pair generations{staging_->sends.generation(), staging_->receives.generation()};
    if (host_ != nullptr && generations == generations_) return;
    host_.reset();
    host_ = staging_->host->prepare(
        BoundAllToAll{work_.dtype, sends_.in(staging_->sends), receives_.in(staging_->receives)});
    generations_ = generations;
  }

  std::shared_ptr<Staging> staging_;
  PeerTransfers work_;
  StagedPieces sends_, receives_;
  OwnedEvent done_;
  Queue queue_;  ///< of the last start
  std::unique_ptr<Transfer> host_;
  std::pair<int, int> generations_;
};

template <class Visit>
void for_each_segment(BoundAllReduce& work, const Visit& visit) {
  for (BoundSegment& region : work.regions) visit(region);
}
template <class Visit>
void for_each_segment(BoundReduceScatter& work, const Visit& visit) {
  for (std::vector<BoundSegment>& item : work.items)
    for (BoundSegment& segment : item) visit(segment);
}

/// Sums in the receive area, where the pieces lie one after the other.
template <class Bound>
class StagedReduction final : public StagedWork {
 public:
  StagedReduction(std::shared_ptr<Staging> staging, Bound work, Reductions pieces)
      : staging_(std::move(staging)),
        work_(std::move(work)),
        reductions_(std::move(pieces)),
        done_(make_event()) {
    if (staging_->in_flight != nullptr) staging_->in_flight->complete();
    Elements total;
    for_each_segment(work_, [&total](const BoundSegment& segment) { total += Elements(segment.size); });
    staging_->reserve(0, static_cast<std::size_t>(bytes_of(total, DType::kFp32).value()));
  }
  StagedReduction(const StagedReduction&) = delete;
  StagedReduction& operator=(const StagedReduction&) = delete;
  StagedReduction(StagedReduction&&) = delete;
  StagedReduction& operator=(StagedReduction&&) = delete;
  ~StagedReduction() override {
    if (staging_->in_flight == this) staging_->in_flight = nullptr;
  }

  void start(Queue queue) override {
    if (staging_->in_flight != nullptr) staging_->in_flight->complete();
    prepare_host();
    queue_ = queue;
    MUONBENCH_CUDA(cudaEventSynchronize(staging_->unloaded.get()));
    const cudaStream_t stream = staging_->device.stream(queue);
    std::byte* at = staging_->receives.data();
    for (const ReducedPiece& piece : reductions_.pieces) {
      MUONBENCH_CUDA(cudaMemcpyAsync(at, piece.data, bytes(piece), cudaMemcpyDeviceToHost, stream));
      at += bytes(piece);
    }
    staging_->device.synchronize(queue);
    host_->start(Queue{});
    staging_->in_flight = this;
  }

  void wait(Queue queue) override {
    if (staging_->in_flight == this) complete();
    MUONBENCH_CUDA(cudaStreamWaitEvent(staging_->device.stream(queue), done_.get(), 0));
  }

  void complete() override {
    staging_->in_flight = nullptr;
    host_->wait(Queue{});
    const cudaStream_t stream = staging_->device.stream(queue_);
    const std::byte* at = staging_->receives.data();
    for (const ReducedPiece& piece : reductions_.pieces) {
      if (reductions_.arrives_here(piece))
        MUONBENCH_CUDA(cudaMemcpyAsync(piece.data, at, bytes(piece), cudaMemcpyHostToDevice, stream));
      at += bytes(piece);
    }
    MUONBENCH_CUDA(cudaEventRecord(staging_->unloaded.get(), stream));
    MUONBENCH_CUDA(cudaEventRecord(done_.get(), stream));
  }

 private:
  static std::size_t bytes(const ReducedPiece& piece) {
    return static_cast<std::size_t>(bytes_of(Elements(piece.size), DType::kFp32).value());
  }

  /// The same work in the area, which may have grown, and moved, since the last start.
  void prepare_host() {
    if (host_ != nullptr && staging_->receives.generation() == generation_) return;
    host_.reset();
    host_ = staging_->host->prepare(in_area());
    generation_ = staging_->receives.generation();
  }

  [[nodiscard]] Bound in_area() const {
    Bound moved = work_;
    auto* at = static_cast<float*>(static_cast<void*>(staging_->receives.data()));
    for_each_segment(moved, [&at](BoundSegment& segment) {
      segment.data = at;
      at += segment.size;
    });
    return moved;
  }

  std::shared_ptr<Staging> staging_;
  Bound work_;
  Reductions reductions_;  // of work_
  OwnedEvent done_;
  Queue queue_;  ///< of the last start
  std::unique_ptr<Transfer> host_;
  int generation_ = 0;
};

class StagedComm final : public Comm {
 public:
  explicit StagedComm(std::shared_ptr<Staging> staging) : staging_(std::move(staging)) {}

  [[nodiscard]] int size() const override { return staging_->host->size(); }
  [[nodiscard]] int rank() const override { return staging_->host->rank(); }
  [[nodiscard]] TrafficCounters counters() const override { return staging_->host->counters(); }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllToAll work) override {
    return std::make_unique<StagedTransfer>(staging_, peer_transfers(work, rank(), size()));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllGather work) override {
    return std::make_unique<StagedTransfer>(staging_, peer_transfers(work, rank(), size()));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllReduce work) override {
    Reductions pieces = reductions(work, rank(), size());
    return std::make_unique<StagedReduction<BoundAllReduce>>(staging_, std::move(work), std::move(pieces));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundReduceScatter work) override {
    Reductions pieces = reductions(work, rank(), size());
    return std::make_unique<StagedReduction<BoundReduceScatter>>(staging_, std::move(work),
                                                                 std::move(pieces));
  }

 private:
  std::shared_ptr<Staging> staging_;
};

}  // namespace

std::unique_ptr<Comm> make_staged_comm(CudaDevice& device, std::unique_ptr<Comm> host) {
  if (host == nullptr) return nullptr;
  auto staging = std::make_shared<Staging>(Staging{device, std::move(host), {}, {}, make_event(), nullptr});
  return std::make_unique<StagedComm>(std::move(staging));
}

}  // namespace muonbench::cuda
