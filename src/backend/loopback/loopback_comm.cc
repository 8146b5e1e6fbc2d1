// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/loopback/loopback_comm.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/backend/peer_transfers.h"
#include "src/backend/reductions.h"
#include "src/base/check.h"

namespace muonbench {
namespace {

std::string difference(const PeerTransfers& receiver, const PeerTransfers& sender) {
  const std::string who = text("loopback: rank {} receives in {}", receiver.rank, receiver.collective);
  if (receiver.collective != sender.collective)
    return text("{}, but rank {} sends in {}", who, sender.rank, sender.collective);
  if (receiver.dtype != sender.dtype) return text("{}, but rank {} sends another dtype", who, sender.rank);
  const std::int64_t expected = receiver.receives[static_cast<std::size_t>(sender.rank)].size;
  const std::int64_t got = sender.sends[static_cast<std::size_t>(receiver.rank)].size;
  if (expected != got)
    return text("{} {} elements from rank {}, which sends {}", who, expected, sender.rank, got);
  return {};
}

void copy_between(const PeerTransfers& sender, const PeerTransfers& receiver) {
  const BoundSegment& from = sender.sends[static_cast<std::size_t>(receiver.rank)];
  const BoundSegment& to = receiver.receives[static_cast<std::size_t>(sender.rank)];
  if (from.size > 0)
    std::memcpy(to.data, from.data,
                static_cast<std::size_t>(bytes_of(Elements(from.size), sender.dtype).value()));
}

}  // namespace

/// All state is guarded by one mutex: what a rank wrote before it started is seen by whoever copies, and what
/// was copied by the rank that waits.
class LoopbackHub {
 public:
  explicit LoopbackHub(int size) : ranks_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }

  /// Begins this rank's next collective and returns its number in the group's order.
  std::int64_t start(const std::shared_ptr<const PeerTransfers>& own) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::int64_t number = rank_at(own->rank).started++;
    Meeting& meeting = meetings_.try_emplace(number, ranks_.size()).first->second;
    for (const auto& peer : meeting.present) {
      if (peer == nullptr) continue;
      exchange(*own, *peer);
      exchange(*peer, *own);
    }
    meeting.present[static_cast<std::size_t>(own->rank)] = own;
    changed_.notify_all();
    return number;
  }

  /// Returns when every peer with which this rank has something to exchange has started collective `number`.
  void wait(std::int64_t number, const PeerTransfers& own) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == own.rank || !exchanges_with(own, peer)) continue;
      changed_.wait(lock,
                    [&] { return has_started(number, peer) || rank_at(peer).gone || !failure_.empty(); });
      throw_failure(own.rank);
      if (!has_started(number, peer))
        throw RuntimeFailure(text("loopback: rank {} waits for rank {}, which left after {} collectives",
                                  own.rank, peer, rank_at(peer).started));
    }
    throw_failure(own.rank);
    if (++meetings_.at(number).left == size()) meetings_.erase(number);
  }

  void leave(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    rank_at(rank).gone = true;
    changed_.notify_all();
  }

  /// Leaves with a collective in flight: its addresses are about to be freed.
  void abandon(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    rank_at(rank).gone = true;
    if (failure_.empty()) failure_ = text("rank {} left a collective that it had started", rank);
    changed_.notify_all();
  }

 private:
  struct Meeting {
    explicit Meeting(std::size_t size) : present(size) {}
    std::vector<std::shared_ptr<const PeerTransfers>> present;  // by rank; null: not started yet
    int left = 0;
  };
  struct RankState {
    std::int64_t started = 0;
    bool gone = false;
    std::string failure;
  };

  [[nodiscard]] RankState& rank_at(int rank) { return ranks_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] bool has_started(std::int64_t number, int peer) { return rank_at(peer).started > number; }

  static bool exchanges_with(const PeerTransfers& own, int peer) {
    const auto at = static_cast<std::size_t>(peer);
    return own.sends[at].size > 0 || own.receives[at].size > 0;
  }

  void exchange(const PeerTransfers& sender, const PeerTransfers& receiver) {
    if (!failure_.empty()) return;
    const std::string problem = difference(receiver, sender);
    if (problem.empty()) return copy_between(sender, receiver);
    rank_at(receiver.rank).failure = problem;
    failure_ = problem;
  }

  void throw_failure(int rank) {
    if (!rank_at(rank).failure.empty()) throw RuntimeFailure(rank_at(rank).failure);
    if (!failure_.empty()) throw RuntimeFailure(text("loopback: rank {} gave up after: {}", rank, failure_));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RankState> ranks_;
  std::map<std::int64_t, Meeting> meetings_;  // by number, until all ranks have waited
  std::string failure_;                       // the group's first
};

namespace {

class LoopbackTransfer final : public Transfer {
 public:
  LoopbackTransfer(std::shared_ptr<LoopbackHub> hub, std::shared_ptr<TrafficCounters> counters,
                   PeerTransfers work)
      : hub_(std::move(hub)),
        counters_(std::move(counters)),
        work_(std::make_shared<const PeerTransfers>(std::move(work))) {}
  LoopbackTransfer(const LoopbackTransfer&) = delete;
  LoopbackTransfer& operator=(const LoopbackTransfer&) = delete;
  LoopbackTransfer(LoopbackTransfer&&) = delete;
  LoopbackTransfer& operator=(LoopbackTransfer&&) = delete;
  ~LoopbackTransfer() override {
    if (number_) hub_->abandon(work_->rank);
  }

  void start(Queue /*queue*/) override {
    MUONBENCH_CHECK(!number_, "{} started twice on rank {}", work_->collective, work_->rank);
    work_->copy_own_block();
    count_collective(*counters_, *work_);
    number_ = hub_->start(work_);
  }

  void wait(Queue /*queue*/) override {
    MUONBENCH_CHECK(number_.has_value(), "{} waited for before it started on rank {}", work_->collective,
                    work_->rank);
    hub_->wait(*number_, *work_);
    number_.reset();
  }

 private:
  std::shared_ptr<LoopbackHub> hub_;
  std::shared_ptr<TrafficCounters> counters_;
  std::shared_ptr<const PeerTransfers> work_;
  std::optional<std::int64_t> number_;
};

/// Everyone's numbers come to where they are summed, in the order of ranks: sums do not depend on who is
/// first, and are the same wherever they are made.
class LoopbackReduction final : public Transfer {
 public:
  LoopbackReduction(const std::shared_ptr<LoopbackHub>& hub, std::shared_ptr<TrafficCounters> counters,
                    Reductions work)
      : counters_(std::move(counters)), work_(std::move(work)), sent_(ranks()), received_(ranks()) {
    PeerTransfers moves{work_.collective, work_.dtype, work_.rank, {}, {}};
    std::int64_t received = 0;
    for (const ReducedPiece& piece : work_.pieces) received += work_.arrives_here(piece) ? piece.size : 0;
    for (std::size_t peer = 0; peer < ranks(); ++peer) {
      std::int64_t sent = 0;
      for (const ReducedPiece& piece : work_.pieces) sent += goes_to(piece, peer) ? piece.size : 0;
      sent_[peer].resize(bytes(sent));
      received_[peer].resize(bytes(received));
      moves.sends.push_back({sent_[peer].data(), sent});
      moves.receives.push_back({received_[peer].data(), received});
    }
    exchange_ =
        std::make_unique<LoopbackTransfer>(hub, std::make_shared<TrafficCounters>(), std::move(moves));
  }

  void start(Queue queue) override {
    for (std::size_t peer = 0; peer < ranks(); ++peer) {
      auto to = sent_[peer].begin();
      for (const ReducedPiece& piece : work_.pieces)
        if (goes_to(piece, peer))
          to = std::copy_n(static_cast<std::byte*>(piece.data), bytes(piece.size), to);
    }
    exchange_->start(queue);
    count_collective(*counters_, work_);
  }

  void wait(Queue queue) override {
    exchange_->wait(queue);
    std::size_t at = 0;
    for (const ReducedPiece& piece : work_.pieces) {
      if (!work_.arrives_here(piece)) continue;
      switch (work_.dtype) {
        case DType::kFp32: add_up<float>(piece, at); break;
        case DType::kBf16: add_up<Bf16>(piece, at); break;
      }
      at += bytes(piece.size);
    }
  }

 private:
  /// bf16 numbers are added up in fp32 and rounded once.
  struct Bf16 {
    std::uint16_t bits;
    explicit Bf16(float value) : bits(bf16_from_fp32(value)) {}
    explicit operator float() const { return fp32_from_bf16(bits); }
  };

  /// The sums of a piece whose numbers lie `at` bytes behind the first that each peer sent.
  template <class Number>
  void add_up(const ReducedPiece& piece, std::size_t at) const {
    for (std::int64_t i = 0; i < piece.size; ++i) {
      float sum = -0.0F;  // added to any number it is that number
      for (const std::vector<std::byte>& numbers : received_)
        sum += static_cast<float>(reinterpret_cast<const Number*>(numbers.data() + at)[i]);
      static_cast<Number*>(piece.data)[i] = Number(sum);
    }
  }

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(work_.ranks); }
  [[nodiscard]] std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(bytes_of(Elements(elements), work_.dtype).value());
  }
  static bool goes_to(const ReducedPiece& piece, std::size_t peer) {
    return piece.root == ReducedPiece::kEveryRank || piece.root == static_cast<int>(peer);
  }

  std::shared_ptr<TrafficCounters> counters_;
  Reductions work_;
  std::vector<std::vector<std::byte>> sent_, received_;  // by peer, pieces one after the other
  std::unique_ptr<LoopbackTransfer> exchange_;           // last: it knows addresses of the ones above
};

class LoopbackComm final : public Comm {
 public:
  LoopbackComm(std::shared_ptr<LoopbackHub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  LoopbackComm(const LoopbackComm&) = delete;
  LoopbackComm& operator=(const LoopbackComm&) = delete;
  LoopbackComm(LoopbackComm&&) = delete;
  LoopbackComm& operator=(LoopbackComm&&) = delete;
  ~LoopbackComm() override { hub_->leave(rank_); }

  [[nodiscard]] int size() const override { return hub_->size(); }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] TrafficCounters counters() const override { return *counters_; }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllToAll work) override {
    return std::make_unique<LoopbackTransfer>(hub_, counters_, peer_transfers(work, rank_, size()));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllGather work) override {
    return std::make_unique<LoopbackTransfer>(hub_, counters_, peer_transfers(work, rank_, size()));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllReduce work) override {
    return std::make_unique<LoopbackReduction>(hub_, counters_, reductions(work, rank_, size()));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundReduceScatter work) override {
    return std::make_unique<LoopbackReduction>(hub_, counters_, reductions(work, rank_, size()));
  }

 private:
  std::shared_ptr<LoopbackHub> hub_;
  int rank_;
  std::shared_ptr<TrafficCounters> counters_ = std::make_shared<TrafficCounters>();
};

}  // namespace

std::shared_ptr<LoopbackHub> make_loopback_hub(int size) {
  MUONBENCH_CHECK(size > 0, "a group of {} ranks", size);
  return std::make_shared<LoopbackHub>(size);
}

std::unique_ptr<Comm> make_loopback_comm(std::shared_ptr<LoopbackHub> hub, int rank) {
  MUONBENCH_CHECK(rank >= 0 && rank < hub->size(), "rank {} of a group of {}", rank, hub->size());
  return std::make_unique<LoopbackComm>(std::move(hub), rank);
}

}  // namespace muonbench
