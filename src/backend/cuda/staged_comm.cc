// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/staged_comm.h"

#include <utility>

#include "src/backend/cuda/own_block.h"
#include "src/backend/cuda/staging.h"
#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

class StagedTransfer;

/// What a communicator and its transfers share; it lives until the last of them is gone.
struct Staging {
  CudaDevice& device;
  std::unique_ptr<Comm> host;
  PinnedArea sends, receives;
  OwnedEvent unloaded;                  ///< the receive area was copied to the device
  StagedTransfer* in_flight = nullptr;  ///< started, and its data not yet on its way to the device

  /// Makes the areas large enough. No transfer may be using them.
  void reserve(std::size_t send_bytes, std::size_t receive_bytes) {
    MUONBENCH_CUDA(cudaEventSynchronize(unloaded.get()));
    sends.reserve(send_bytes);
    receives.reserve(receive_bytes);
  }
};

class StagedTransfer final : public Transfer {
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

 private:
  /// Waits for the peers, then sends what they sent on to the device.
  void complete() {
    staging_->in_flight = nullptr;
    host_->wait(Queue{});
    const cudaStream_t stream = staging_->device.stream(queue_);
    receives_.copy_to_device(staging_->receives, stream);
    MUONBENCH_CUDA(cudaEventRecord(staging_->unloaded.get(), stream));
    MUONBENCH_CUDA(cudaEventRecord(done_.get(), stream));
  }

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
