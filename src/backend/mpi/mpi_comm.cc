// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_comm.h"

#include <cstddef>
#include <utility>
#include <vector>

#include <mpi.h>

#include "src/backend/mpi/mpi_check.h"
#include "src/backend/mpi/mpi_group.h"
#include "src/backend/mpi/mpi_reduction.h"
#include "src/backend/peer_transfers.h"
#include "src/base/check.h"

namespace muonbench {
namespace {

// A group's transfers start in the same order on all its ranks, and MPI keeps that order: one tag does for
// all.
constexpr int kTag = 0;

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(std::shared_ptr<MpiGroup> group, PeerTransfers work)
      : group_(std::move(group)), work_(std::move(work)) {
    // Receives first: what arrives finds its place. Each rank begins with its neighbour, so that no rank is
    // everyone's first.
    for (int step = 1; step < group_->size; ++step)
      add_receives((group_->rank - step + group_->size) % group_->size);
    for (int step = 1; step < group_->size; ++step) add_sends((group_->rank + step) % group_->size);
    statuses_.resize(requests_.size());
  }
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;
  MpiTransfer(MpiTransfer&&) = delete;
  MpiTransfer& operator=(MpiTransfer&&) = delete;
  ~MpiTransfer() override {
    // A wait that failed may have freed some.
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MUONBENCH_MPI_NOEXCEPT(MPI_Request_free(&request));
  }

  void start(Queue /*queue*/) override {
    if (!requests_.empty()) MUONBENCH_MPI(MPI_Startall(static_cast<int>(requests_.size()), requests_.data()));
    work_.copy_own_block();
    count_collective(group_->counters, work_);
  }

  void wait(Queue /*queue*/) override {
    if (requests_.empty()) return;
    const int result = wait_for_all(requests_, statuses_, group_->options.waiting);
    if (result == MPI_ERR_IN_STATUS) check_each_message();
    detail::check_mpi(result, "MPI_Waitall", __FILE__, __LINE__);
    check_received_counts();
  }

 private:
  struct Message {
    int peer;
    int count;
  };

  template <class Init>
  void add(const BoundSegment& segment, int peer, const Init& init) {
    for (const MpiSegment& piece : mpi_segments(Elements(segment.size), group_->options.largest_message)) {
      auto* data = static_cast<std::byte*>(segment.data) + bytes_of(piece.offset, work_.dtype).value();
      MPI_Request request = MPI_REQUEST_NULL;
      init(data, piece.count, peer, &request);
      requests_.push_back(request);
      messages_.push_back({.peer = peer, .count = piece.count});
    }
  }

  void add_receives(int peer) {
    add(work_.receives[static_cast<std::size_t>(peer)], peer,
        [this](void* data, int count, int from, MPI_Request* request) {
          MUONBENCH_MPI(
              MPI_Recv_init(data, count, mpi_datatype(work_.dtype), from, kTag, group_->comm.get(), request));
        });
    receive_count_ = requests_.size();
  }

  void add_sends(int peer) {
    add(work_.sends[static_cast<std::size_t>(peer)], peer,
        [this](void* data, int count, int to, MPI_Request* request) {
          MUONBENCH_MPI(
              MPI_Send_init(data, count, mpi_datatype(work_.dtype), to, kTag, group_->comm.get(), request));
        });
  }

  void check_each_message() const {
    for (std::size_t i = 0; i < statuses_.size(); ++i) {
      const int error = statuses_[i].MPI_ERROR;
      if (error == MPI_SUCCESS || error == MPI_ERR_PENDING) continue;
      const bool receives = i < receive_count_;
      const std::string call =
          text("{} ({} {} elements {} group rank {})", work_.collective, receives ? "receiving" : "sending",
               messages_[i].count, receives ? "from" : "to", messages_[i].peer);
      detail::check_mpi(error, call.c_str(), __FILE__, __LINE__);
    }
  }

  // MPI takes a message that is too short without a word.
  void check_received_counts() const {
    for (std::size_t i = 0; i < receive_count_; ++i) {
      int count = 0;
      MUONBENCH_MPI(MPI_Get_count(&statuses_[i], mpi_datatype(work_.dtype), &count));
      if (count != messages_[i].count)
        throw RuntimeFailure(text("{}: {}: expected {} elements from group rank {}, got {}", mpi_rank_name(),
                                  work_.collective, messages_[i].count, messages_[i].peer, count));
    }
  }

  std::shared_ptr<MpiGroup> group_;
  PeerTransfers work_;
  std::vector<MPI_Request> requests_;  // receives, then sends
  std::vector<Message> messages_;      // of requests_
  std::vector<MPI_Status> statuses_;   // of requests_
  std::size_t receive_count_ = 0;
};

class MpiComm final : public Comm {
 public:
  explicit MpiComm(std::shared_ptr<MpiGroup> group) : group_(std::move(group)) {}

  [[nodiscard]] int size() const override { return group_->size; }
  [[nodiscard]] int rank() const override { return group_->rank; }
  [[nodiscard]] TrafficCounters counters() const override { return group_->counters; }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllToAll work) override {
    return std::make_unique<MpiTransfer>(group_, peer_transfers(work, group_->rank, group_->size));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllGather work) override {
    return std::make_unique<MpiTransfer>(group_, peer_transfers(work, group_->rank, group_->size));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllReduce work) override {
    return make_mpi_reduction(group_, reductions(work, group_->rank, group_->size));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundReduceScatter work) override {
    return make_mpi_reduction(group_, reductions(work, group_->rank, group_->size));
  }

 private:
  std::shared_ptr<MpiGroup> group_;
};

}  // namespace

MpiWaiting default_waiting(const MpiRuntime& runtime) {
  return runtime.local_size() > runtime.local_cores() ? MpiWaiting::kYield : MpiWaiting::kSpin;
}

std::unique_ptr<Comm> make_mpi_comm(const MpiRuntime& runtime, int color, int key, MpiCommOptions options) {
  MPI_Comm split = MPI_COMM_NULL;
  MUONBENCH_MPI(MPI_Comm_split(MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color, key, &split));
  if (split == MPI_COMM_NULL) return nullptr;
  auto group = std::make_shared<MpiGroup>(
      MpiGroup{.comm = OwnedMpiComm(split), .options = options, .rank = 0, .size = 0, .counters = {}});
  MUONBENCH_MPI(MPI_Comm_set_errhandler(split, MPI_ERRORS_RETURN));
  MUONBENCH_MPI(MPI_Comm_rank(split, &group->rank));
  MUONBENCH_MPI(MPI_Comm_size(split, &group->size));
  MUONBENCH_CHECK(group->size <= runtime.size(), "a group of {} among {} ranks", group->size, runtime.size());
  return std::make_unique<MpiComm>(std::move(group));
}

std::unique_ptr<Comm> make_mpi_comm(const MpiRuntime& runtime, int color, int key) {
  return make_mpi_comm(runtime, color, key, {.waiting = default_waiting(runtime)});
}

}  // namespace muonbench
