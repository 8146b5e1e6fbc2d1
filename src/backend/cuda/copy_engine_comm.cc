// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/copy_engine_comm.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "src/backend/cuda/host_exchange.h"
#include "src/backend/cuda/own_block.h"
#include "src/backend/cuda/peer_memory.h"
#include "src/backend/cuda/stream_transfer.h"
#include "src/backend/cuda/stream_values.h"
#include "src/base/check.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace muonbench::cuda {
namespace {

/// What peers tell a rank, in its memory, by group rank: how many runs its memory may be written for, and
/// how many of its blocks have arrived.
class Signals {
 public:
  Signals(const CudaDevice& device, int ranks)
      : bytes_(in_exported_blocks(static_cast<std::size_t>(ranks) * kLine * sizeof(std::uint32_t))),
        memory_(device.make_table(std::vector<std::uint32_t>(bytes_ / sizeof(std::uint32_t)))) {}

  [[nodiscard]] std::uint32_t* begin() const { return memory_.as<std::uint32_t>(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] static std::uint32_t* may_write(std::uint32_t* begin, int peer) {
    return begin + static_cast<std::ptrdiff_t>(peer) * kLine;
  }
  [[nodiscard]] static std::uint32_t* arrived(std::uint32_t* begin, int peer) {
    return may_write(begin, peer) + kLine / 2;
  }

 private:
  static constexpr int kLine = 64;  // words; no two ranks write next to one another

  std::size_t bytes_;
  DeviceTable memory_;
};

/// What a communicator and its transfers share; it lives until the last of them is gone. Waits in a stream
/// may hold up other streams of the device: that ends, since all ranks enqueue in one order, and what a wait
/// is for stands before it in that order on every rank.
class Group {
 public:
  Group(CudaDevice& on, std::unique_ptr<Comm> host_comm, std::unique_ptr<Comm> sums_comm)
      : device(on), host(std::move(host_comm)), sums(std::move(sums_comm)), signals_(on, host->size()) {
    const std::vector<ExportedAddress> from_peers =
        exchange_on_host(*host, std::vector<ExportedAddress>(ranks(), exported_allocation(signals_.begin())));
    for (int peer = 0; peer < host->size(); ++peer)
      peer_signals_.push_back(peer == host->rank()
                                  ? PeerAddress{}
                                  : memory.map(from_peers[static_cast<std::size_t>(peer)], peer));
    watch_ = device.watch({[] {}, [this] { give_up(); }});
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    device.end_watch(watch_);
    let_go(peer_signals_);
  }

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(host->size()); }

  /// Once it returns, no peer writes where this rank told it with what `addresses` were for. While an
  /// exception is on its way, or after one, nobody is waited for: peers may be gone, or wait elsewhere.
  void let_go(std::vector<PeerAddress>& addresses) noexcept {
    if (std::uncaught_exceptions() > 0 && !gave_up_) give_up();
    if (gave_up_) {
      drain_after_giving_up();
      addresses.clear();
      return;
    }
    MUONBENCH_CUDA_NOEXCEPT(cudaStreamSynchronize(streams.between_ranks.get()));
    addresses.clear();
    try {
      static_cast<void>(exchange_on_host(*host, std::vector<std::uint16_t>(ranks())));
    } catch (const std::exception& error) {
      log_error(text("transport copy_engine: peers cannot be met: {}", error.what()));
    }
  }

  /// The number of a new run, the same on all ranks: they start transfers in one order.
  [[nodiscard]] std::uint32_t next_run() {
    MUONBENCH_CHECK(!gave_up_, "a transfer on a communicator that failed");
    return ++run_;
  }
  /// `peer` may write here for this run, and is told that all it gets has arrived.
  void let_write(int peer, std::uint32_t run) const {
    values_.write(streams.between_ranks.get(), Signals::may_write(signals_of(peer), host->rank()), run);
  }
  void tell_arrived(int peer, std::uint32_t run) const {
    values_.write(streams.between_ranks.get(), Signals::arrived(signals_of(peer), host->rank()), run);
  }
  void wait_to_write(int peer, std::uint32_t run) const {
    values_.wait(streams.between_ranks.get(), Signals::may_write(signals_.begin(), peer), run);
  }
  void wait_for_block(int peer, std::uint32_t run) const {
    values_.wait(streams.between_ranks.get(), Signals::arrived(signals_.begin(), peer), run);
  }

  CudaDevice& device;
  std::unique_ptr<Comm> host, sums;
  TravelStreams streams;
  PeerMemory memory;
  TrafficCounters counters;

 private:
  [[nodiscard]] std::uint32_t* signals_of(int peer) const {
    return reinterpret_cast<std::uint32_t*>(peer_signals_[static_cast<std::size_t>(peer)].data);
  }

  /// All that this rank waits for counts as having happened, so that its streams come to their end. Its peers
  /// may get blocks too early by that; the job is over.
  void give_up() noexcept {
    gave_up_ = true;
    constexpr std::uint32_t kAhead = std::uint32_t{1} << 30U;
    const std::vector<std::uint32_t> late(signals_.bytes() / sizeof(std::uint32_t), run_ + kAhead);
    MUONBENCH_CUDA_NOEXCEPT(cudaMemcpyAsync(signals_.begin(), late.data(), signals_.bytes(),
                                            cudaMemcpyHostToDevice, giving_up_.get()));
    MUONBENCH_CUDA_NOEXCEPT(cudaStreamSynchronize(giving_up_.get()));
  }

  /// A peer that goes on may write its own numbers over those, so they are written again; but not for ever,
  /// and not for each transfer anew.
  void drain_after_giving_up() noexcept {
    if (std::exchange(drained_, true)) return;
    constexpr std::chrono::seconds kLongest{2};
    constexpr std::chrono::milliseconds kPause{1};
    const auto begin = std::chrono::steady_clock::now();
    while (cudaStreamQuery(streams.between_ranks.get()) == cudaErrorNotReady &&
           std::chrono::steady_clock::now() - begin < kLongest) {
      give_up();
      std::this_thread::sleep_for(kPause);
    }
  }

  StreamValues values_;
  OwnedStream giving_up_ = make_stream();  ///< behind nothing that waits
  Signals signals_;
  std::vector<PeerAddress> peer_signals_;
  std::uint32_t run_ = 0;
  bool gave_up_ = false, drained_ = false;
  CudaDevice::Watch watch_;
};

class CopyTransfer final : public StreamTransfer {
 public:
  CopyTransfer(std::shared_ptr<Group> group, PeerTransfers work)
      : StreamTransfer(group->device, group->streams, own_block_of(work)),
        group_(std::move(group)),
        work_(std::move(work)),
        targets_(group_->ranks()) {
    const int ranks = group_->host->size();
    for (int i = 1; i < ranks; ++i) peers_.push_back((work_.rank + i) % ranks);
    const std::vector<Place> places = exchange_on_host(*group_->host, places_for_peers());
    for (const int peer : peers_) {
      const auto at = static_cast<std::size_t>(peer);
      check_size(peer, places[at].elements);
      if (send(peer).size > 0) targets_[at] = group_->memory.map(places[at].address, peer);
    }
  }
  CopyTransfer(const CopyTransfer&) = delete;
  CopyTransfer& operator=(const CopyTransfer&) = delete;
  CopyTransfer(CopyTransfer&&) = delete;
  CopyTransfer& operator=(CopyTransfer&&) = delete;
  ~CopyTransfer() override { group_->let_go(targets_); }

 private:
  void enqueue() override {
    const std::uint32_t run = group_->next_run();
    enqueue_own_copy(work_);
    for (const int peer : peers_)
      if (receive(peer).size > 0) group_->let_write(peer, run);
    for (const int peer : peers_) {
      if (send(peer).size == 0) continue;
      group_->wait_to_write(peer, run);
      MUONBENCH_CUDA(cudaMemcpyAsync(targets_[static_cast<std::size_t>(peer)].data, send(peer).data,
                                     size_in_bytes(send(peer), work_.dtype), cudaMemcpyDeviceToDevice,
                                     stream()));
      group_->tell_arrived(peer, run);
    }
    for (const int peer : peers_)
      if (receive(peer).size > 0) group_->wait_for_block(peer, run);
    count_collective(group_->counters, work_);
  }

  /// Where a rank receives a peer's block.
  struct Place {
    ExportedAddress address;
    std::int64_t elements = 0;
  };
  [[nodiscard]] std::vector<Place> places_for_peers() const {
    std::vector<Place> places(group_->ranks());
    for (const int peer : peers_) {
      if (receive(peer).size == 0) continue;
      places[static_cast<std::size_t>(peer)] = {exported(group_->device, receive(peer).data),
                                                receive(peer).size};
    }
    return places;
  }
  void check_size(int peer, std::int64_t elements) const {
    MUONBENCH_CHECK(elements == send(peer).size,
                    "{}: rank {} of the group receives {} elements from rank {}, which sends {}",
                    work_.collective, peer, elements, work_.rank, send(peer).size);
  }

  [[nodiscard]] const BoundSegment& send(int peer) const {
    return work_.sends[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] const BoundSegment& receive(int peer) const {
    return work_.receives[static_cast<std::size_t>(peer)];
  }

  std::shared_ptr<Group> group_;
  PeerTransfers work_;
  std::vector<int> peers_;  ///< from the one behind this rank on: no two write to the same one at a time
  std::vector<PeerAddress> targets_;  ///< where blocks go, by peer
};

class CopyEngineComm final : public Comm {
 public:
  explicit CopyEngineComm(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  [[nodiscard]] int size() const override { return group_->host->size(); }
  [[nodiscard]] int rank() const override { return group_->host->rank(); }
  [[nodiscard]] TrafficCounters counters() const override {
    TrafficCounters all = group_->counters;
    return all += group_->sums->counters();
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllToAll work) override {
    return std::make_unique<CopyTransfer>(group_, peer_transfers(work, rank(), size()));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllGather work) override {
    return std::make_unique<CopyTransfer>(group_, peer_transfers(work, rank(), size()));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllReduce work) override {
    return group_->sums->prepare(std::move(work));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundReduceScatter work) override {
    return group_->sums->prepare(std::move(work));
  }

 private:
  std::shared_ptr<Group> group_;
};

}  // namespace

std::unique_ptr<Comm> make_copy_engine_comm(CudaDevice& device, std::unique_ptr<Comm> host,
                                            std::unique_ptr<Comm> sums) {
  if (host == nullptr) return nullptr;
  return std::make_unique<CopyEngineComm>(std::make_shared<Group>(device, std::move(host), std::move(sums)));
}

}  // namespace muonbench::cuda
