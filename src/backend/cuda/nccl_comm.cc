// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/nccl_comm.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "src/backend/cuda/host_exchange.h"
#include "src/backend/cuda/nccl_check.h"
#include "src/backend/cuda/nccl_handle.h"
#include "src/backend/cuda/stream_transfer.h"
#include "src/backend/mpi/mpi_comm.h"
#include "src/backend/peer_transfers.h"
#include "src/backend/reductions.h"
#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

/// Ends a group of NCCL calls, also where one of them threw: an abort within an open group would only be put
/// off.
class GroupEnd {
 public:
  GroupEnd() = default;
  GroupEnd(const GroupEnd&) = delete;
  GroupEnd& operator=(const GroupEnd&) = delete;
  GroupEnd(GroupEnd&&) = delete;
  GroupEnd& operator=(GroupEnd&&) = delete;
  ~GroupEnd() {
    if (open_) static_cast<void>(ncclGroupEnd());  // what it says follows from the error on its way
  }
  void now() {
    open_ = false;
    MUONBENCH_NCCL(ncclGroupEnd());
  }

 private:
  bool open_ = true;
};

/// What a communicator and its transfers share; it lives until the last of them is gone.
class Group {
 public:
  Group(CudaDevice& on, const ncclUniqueId& id, int group_size, int own_rank)
      : device(on),
        size(group_size),
        rank(own_rank),
        nccl(id, group_size, own_rank),
        watch_(on.watch({[this] { nccl.poll(); }, [this] { nccl.abort(); }})) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { device.end_watch(watch_); }

  void check_usable(std::string_view collective) const {
    MUONBENCH_CHECK(nccl.get() != nullptr, "{} on a communicator that failed", collective);
  }

  /// What `enqueue` calls, as one group. A failure ends all communicators of the device, so that none keeps
  /// kernels that wait for a peer.
  template <class Enqueue>
  void in_one_group(const Enqueue& enqueue) {
    // What failed meanwhile is said before a group is opened.
    device.poll_watched();
    try {
      MUONBENCH_NCCL(ncclGroupStart());
      GroupEnd group_end;
      enqueue();
      group_end.now();
      // What the stream gets next must come after the group, which NCCL may still be handing over.
      nccl.settle("ncclGroupEnd");
    } catch (const std::exception&) {
      device.give_up_watched();
      throw;
    }
  }

  CudaDevice& device;
  int size, rank;
  TravelStreams streams;
  NcclHandle nccl;
  TrafficCounters counters;

 private:
  CudaDevice::Watch watch_;
};

ncclDataType_t datatype_of(DType dtype) {
  switch (dtype) {
    case DType::kFp32: return ncclFloat32;
    case DType::kBf16: return ncclBfloat16;
  }
  return ncclNumTypes;
}

class NcclTransfer final : public StreamTransfer {
 public:
  NcclTransfer(std::shared_ptr<Group> group, PeerTransfers work)
      : StreamTransfer(group->device, group->streams, own_block_of(work)),
        group_(std::move(group)),
        work_(std::move(work)) {
    for (int peer = 0; peer < group_->size; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      if (peer != group_->rank && (work_.sends[at].size > 0 || work_.receives[at].size > 0))
        peers_.push_back(peer);
    }
  }

 private:
  void enqueue() override {
    group_->check_usable(work_.collective);
    enqueue_own_copy(work_);
    if (!peers_.empty()) group_->in_one_group([this] { enqueue_messages(); });
    count_collective(group_->counters, work_);
  }

  void enqueue_messages() const {
    const ncclComm_t comm = group_->nccl.get();
    const ncclDataType_t type = datatype_of(work_.dtype);
    for (const int peer : peers_) {
      const BoundSegment& send = work_.sends[static_cast<std::size_t>(peer)];
      const BoundSegment& receive = work_.receives[static_cast<std::size_t>(peer)];
      if (send.size > 0)
        MUONBENCH_NCCL(ncclSend(send.data, static_cast<std::size_t>(send.size), type, peer, comm, stream()));
      if (receive.size > 0)
        MUONBENCH_NCCL(
            ncclRecv(receive.data, static_cast<std::size_t>(receive.size), type, peer, comm, stream()));
    }
  }

  std::shared_ptr<Group> group_;
  PeerTransfers work_;
  std::vector<int> peers_;  // with which something is exchanged
};

/// Pieces [first, first + ranks) as one ncclReduceScatter, if that is what they are: equal, touching, one for
/// each rank in order.
bool is_even_scatter(const Reductions& work, std::size_t first) {
  const auto ranks = static_cast<std::size_t>(work.ranks);
  if (first + ranks > work.pieces.size()) return false;
  const ReducedPiece& head = work.pieces[first];
  const std::int64_t bytes = bytes_of(Elements(head.size), work.dtype).value();
  for (std::size_t i = 0; i < ranks; ++i) {
    const ReducedPiece& piece = work.pieces[first + i];
    if (piece.root != static_cast<int>(i) || piece.size != head.size ||
        piece.data != static_cast<std::byte*>(head.data) + static_cast<std::int64_t>(i) * bytes)
      return false;
  }
  return true;
}

class NcclReduction final : public StreamTransfer {
 public:
  NcclReduction(std::shared_ptr<Group> group, Reductions work)
      : StreamTransfer(group->device, group->streams, OwnBlock::kStays),
        group_(std::move(group)),
        work_(std::move(work)) {}

 private:
  void enqueue() override {
    group_->check_usable(work_.collective);
    if (!work_.pieces.empty()) group_->in_one_group([this] { enqueue_pieces(); });
    count_collective(group_->counters, work_);
  }

  void enqueue_pieces() const {
    for (std::size_t i = 0; i < work_.pieces.size();) {
      if (is_even_scatter(work_, i)) {
        scatter(work_.pieces[i]);
        i += static_cast<std::size_t>(work_.ranks);
      } else {
        reduce(work_.pieces[i]);
        ++i;
      }
    }
  }

  void scatter(const ReducedPiece& first) const {
    std::byte* const mine = static_cast<std::byte*>(first.data) +
                            group_->rank * bytes_of(Elements(first.size), work_.dtype).value();
    MUONBENCH_NCCL(ncclReduceScatter(first.data, mine, static_cast<std::size_t>(first.size),
                                     datatype_of(work_.dtype), ncclSum, group_->nccl.get(), stream()));
  }

  void reduce(const ReducedPiece& piece) const {
    const auto size = static_cast<std::size_t>(piece.size);
    const ncclComm_t comm = group_->nccl.get();
    const ncclDataType_t type = datatype_of(work_.dtype);
    if (piece.root == ReducedPiece::kEveryRank)
      MUONBENCH_NCCL(ncclAllReduce(piece.data, piece.data, size, type, ncclSum, comm, stream()));
    else
      MUONBENCH_NCCL(ncclReduce(piece.data, piece.data, size, type, ncclSum, piece.root, comm, stream()));
  }

  std::shared_ptr<Group> group_;
  Reductions work_;
};

class NcclComm final : public Comm {
 public:
  explicit NcclComm(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  [[nodiscard]] int size() const override { return group_->size; }
  [[nodiscard]] int rank() const override { return group_->rank; }
  [[nodiscard]] TrafficCounters counters() const override { return group_->counters; }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllToAll work) override {
    return std::make_unique<NcclTransfer>(group_, peer_transfers(work, group_->rank, group_->size));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllGather work) override {
    return std::make_unique<NcclTransfer>(group_, peer_transfers(work, group_->rank, group_->size));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllReduce work) override {
    return std::make_unique<NcclReduction>(group_, reductions(work, group_->rank, group_->size));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundReduceScatter work) override {
    return std::make_unique<NcclReduction>(group_, reductions(work, group_->rank, group_->size));
  }

 private:
  std::shared_ptr<Group> group_;
};

/// The group's first rank makes an id and hands it to the others over the host.
ncclUniqueId common_id(Comm& host) {
  ncclUniqueId id{};
  if (host.rank() == 0) MUONBENCH_NCCL(ncclGetUniqueId(&id));
  return exchange_on_host(host, std::vector(static_cast<std::size_t>(host.size()), id)).front();
}

}  // namespace

std::unique_ptr<Comm> make_nccl_comm(CudaDevice& device, const MpiRuntime& runtime, int color, int key) {
  const std::unique_ptr<Comm> host = make_mpi_comm(runtime, color, key);
  if (host == nullptr) return nullptr;
  return std::make_unique<NcclComm>(
      std::make_shared<Group>(device, common_id(*host), host->size(), host->rank()));
}

}  // namespace muonbench::cuda
