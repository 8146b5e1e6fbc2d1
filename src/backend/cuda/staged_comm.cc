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

class StagedWork;

/// What a communicator and its transfers share; it lives until the last of them is gone.
struct Staging {
  CudaDevice& device;
  std::unique_ptr<Comm> host;
  PinnedArea sends, receives;
  OwnedEvent unloaded;              ///< the receive area was copied to the device
  StagedWork* in_flight = nullptr;  ///< started, and its data not yet on its way to the device

  /// Differ once an area moved.
  [[nodiscard]] std::pair<int, int> generations() const {
    return {sends.generation(), receives.generation()};
  }
};

/// A transfer by way of the areas: to the host, among the ranks there, and back. What is copied, and what the
/// host does with it, is the derived class's.
class StagedWork : public Transfer {
 public:
  explicit StagedWork(std::shared_ptr<Staging> staging) : staging_(std::move(staging)), done_(make_event()) {}
  StagedWork(const StagedWork&) = delete;
  StagedWork& operator=(const StagedWork&) = delete;
  StagedWork(StagedWork&&) = delete;
  StagedWork& operator=(StagedWork&&) = delete;
  ~StagedWork() override {
    if (staging_->in_flight == this) staging_->in_flight = nullptr;
  }

  void start(Queue queue) final {
    complete_in_flight();
    if (host_ == nullptr || generations_ != staging_->generations()) {
      host_.reset();
      host_ = prepare_host(*staging_->host);
      generations_ = staging_->generations();
    }
    queue_ = queue;
    // From now on this rank, and then its peers, write into the areas.
    MUONBENCH_CUDA(cudaEventSynchronize(staging_->unloaded.get()));
    copy_to_host(staging_->device.stream(queue));
    staging_->device.synchronize(queue);
    host_->start(Queue{});
    staging_->in_flight = this;
  }

  void wait(Queue queue) final {
    if (staging_->in_flight == this) complete();
    MUONBENCH_CUDA(cudaStreamWaitEvent(staging_->device.stream(queue), done_.get(), 0));
  }

 protected:
  [[nodiscard]] const PinnedArea& send_area() const { return staging_->sends; }
  [[nodiscard]] const PinnedArea& receive_area() const { return staging_->receives; }

  /// Makes the areas large enough.
  void reserve(std::size_t send_bytes, std::size_t receive_bytes) {
    complete_in_flight();
    MUONBENCH_CUDA(cudaEventSynchronize(staging_->unloaded.get()));
    staging_->sends.reserve(send_bytes);
    staging_->receives.reserve(receive_bytes);
  }

 private:
  /// The work in the areas as they lie now.
  [[nodiscard]] virtual std::unique_ptr<Transfer> prepare_host(Comm& host) const = 0;
  virtual void copy_to_host(cudaStream_t stream) const = 0;
  virtual void copy_to_device(cudaStream_t stream) const = 0;

  /// Waits for the peers, then sends what they sent on to the device.
  void complete() {
    staging_->in_flight = nullptr;
    host_->wait(Queue{});
    const cudaStream_t stream = staging_->device.stream(queue_);
    copy_to_device(stream);
    MUONBENCH_CUDA(cudaEventRecord(staging_->unloaded.get(), stream));
    MUONBENCH_CUDA(cudaEventRecord(done_.get(), stream));
  }
  void complete_in_flight() {
    if (staging_->in_flight != nullptr) staging_->in_flight->complete();
  }

  std::shared_ptr<Staging> staging_;
  OwnedEvent done_;
  Queue queue_;  ///< of the last start
  std::unique_ptr<Transfer> host_;
  std::pair<int, int> generations_;  ///< of the areas for which host_ was prepared
};

class StagedTransfer final : public StagedWork {
 public:
  StagedTransfer(std::shared_ptr<Staging> staging, PeerTransfers work)
      : StagedWork(std::move(staging)),
        work_(std::move(work)),
        sends_(work_.sends, work_.rank, work_.dtype),
        receives_(work_.receives, work_.rank, work_.dtype) {
    reserve(sends_.size(), receives_.size());
  }

 private:
  [[nodiscard]] std::unique_ptr<Transfer> prepare_host(Comm& host) const override {
    return host.prepare(BoundAllToAll{work_.dtype, sends_.in(send_area()), receives_.in(receive_area())});
  }
  void copy_to_host(cudaStream_t stream) const override {
    copy_own_block(work_, stream);
    sends_.copy_to_host(send_area(), stream);
  }
  void copy_to_device(cudaStream_t stream) const override {
    receives_.copy_to_device(receive_area(), stream);
  }

  PeerTransfers work_;
  StagedPieces sends_, receives_;
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
      : StagedWork(std::move(staging)), work_(std::move(work)), reductions_(std::move(pieces)) {
    Elements total;
    for_each_segment(work_, [&total](const BoundSegment& segment) { total += Elements(segment.size); });
    reserve(0, static_cast<std::size_t>(bytes_of(total, reductions_.dtype).value()));
  }

 private:
  [[nodiscard]] std::unique_ptr<Transfer> prepare_host(Comm& host) const override {
    Bound moved = work_;
    std::byte* at = receive_area().data();
    for_each_segment(moved, [this, &at](BoundSegment& segment) {
      segment.data = at;
      at += bytes(segment.size);
    });
    return host.prepare(std::move(moved));
  }
  void copy_to_host(cudaStream_t stream) const override {
    std::byte* at = receive_area().data();
    for (const ReducedPiece& piece : reductions_.pieces) {
      MUONBENCH_CUDA(cudaMemcpyAsync(at, piece.data, bytes(piece.size), cudaMemcpyDeviceToHost, stream));
      at += bytes(piece.size);
    }
  }
  void copy_to_device(cudaStream_t stream) const override {
    const std::byte* at = receive_area().data();
    for (const ReducedPiece& piece : reductions_.pieces) {
      if (reductions_.arrives_here(piece))
        MUONBENCH_CUDA(cudaMemcpyAsync(piece.data, at, bytes(piece.size), cudaMemcpyHostToDevice, stream));
      at += bytes(piece.size);
    }
  }
  [[nodiscard]] std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(bytes_of(Elements(elements), reductions_.dtype).value());
  }

  Bound work_;
  Reductions reductions_;  // of work_
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
