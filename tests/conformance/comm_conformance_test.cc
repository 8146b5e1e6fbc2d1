// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/comm_conformance.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/conformance/device_array.h"

#include "src/base/error.h"

namespace muonbench {
namespace {

/// How many elements rank `from` sends to rank `to`.
using SizeRule = std::function<std::int64_t(int from, int to)>;

// Tells sender, receiver, place and round; exact in fp32, and as the bits of a bf16.
template <class T>
T payload(int from, int to, std::int64_t index, int round) {
  return static_cast<T>((from * 31 + to * 7 + index * 3 + round * 101) % 30011);
}

template <class T>
DType dtype_of();
template <>
DType dtype_of<float>() {
  return DType::kFp32;
}
template <>
DType dtype_of<std::uint16_t>() {
  return DType::kBf16;
}

// One rank's part of an all_to_all whose segments lie one after the other, with a gap of one element between
// them.
template <class T>
class Exchange {
 public:
  Exchange(Comm& comm, Device& device, const SizeRule& size)
      : comm_(comm),
        size_(size),
        send_(device, std::vector<T>(static_cast<std::size_t>(
                          length([&](int peer) { return size(comm.rank(), peer); })))),
        receive_(device, std::vector<T>(static_cast<std::size_t>(
                             length([&](int peer) { return size(peer, comm.rank()); })))) {
    BoundAllToAll work{.dtype = dtype_of<T>(), .sends = {}, .receives = {}};
    std::int64_t send_at = 0, receive_at = 0;
    for (int peer = 0; peer < comm.size(); ++peer) {
      work.sends.push_back({send_.data() + send_at, size(comm.rank(), peer)});
      work.receives.push_back({receive_.data() + receive_at, size(peer, comm.rank())});
      send_at += work.sends.back().size + 1;
      receive_at += work.receives.back().size + 1;
    }
    transfer_ = comm.prepare(work);
  }

  void fill(int round) {
    std::vector<T> values;
    for (int peer = 0; peer < comm_.size(); ++peer) {
      for (std::int64_t i = 0; i < size_(comm_.rank(), peer); ++i)
        values.push_back(payload<T>(comm_.rank(), peer, i, round));
      values.push_back(kGap);
    }
    send_.write(values);
    receive_.write(std::vector<T>(static_cast<std::size_t>(receive_.size()), kGap));
  }
  void start(Queue queue) { transfer_->start(queue); }
  void wait(Queue queue) { transfer_->wait(queue); }

  void expect_received(int round) const {
    std::vector<T> wanted;
    for (int peer = 0; peer < comm_.size(); ++peer) {
      for (std::int64_t i = 0; i < size_(peer, comm_.rank()); ++i)
        wanted.push_back(payload<T>(peer, comm_.rank(), i, round));
      wanted.push_back(kGap);
    }
    EXPECT_EQ(receive_.read(), wanted)
        << "rank " << comm_.rank() << " of " << comm_.size() << ", round " << round;
  }

 private:
  static constexpr T kGap = 30012;

  template <class SizeOfPeer>
  std::int64_t length(const SizeOfPeer& size_of_peer) const {
    std::int64_t sum = 0;
    for (int peer = 0; peer < comm_.size(); ++peer) sum += size_of_peer(peer) + 1;
    return sum;
  }

  Comm& comm_;
  SizeRule size_;
  DeviceArray<T> send_, receive_;
  std::unique_ptr<Transfer> transfer_;
};

std::int64_t different_for_each_pair(int from, int to) { return 1 + from * 5 + to * 3; }
// Most pairs are empty; whether rank 0 sends anything to itself differs from the others.
std::int64_t mostly_nothing(int from, int to) { return from % 2 == 1 && to == 0 ? 40 : 0; }
std::int64_t nothing(int /*from*/, int /*to*/) { return 0; }
std::int64_t all_but_the_own_block(int from, int to) { return from == to ? 0 : 7 + from - to; }
// Beyond what a transport hands over without the receiver's help.
std::int64_t large(int from, int to) { return 100000 + from - to; }

template <class T>
void expect_exchange(Comm& comm, Device& device, const SizeRule& size) {
  const Queue queue = device.make_queue();
  Exchange<T> exchange(comm, device, size);
  // A prepared transfer runs as often as there are steps.
  for (int round = 0; round < 3; ++round) {
    exchange.fill(round);
    exchange.start(queue);
    exchange.wait(queue);
    device.synchronize(queue);
    exchange.expect_received(round);
  }
}

TEST_P(CommConformance, RankLiesWithinSize) {
  for_each_rank([](Comm& comm, Device&) {
    EXPECT_GE(comm.rank(), 0);
    EXPECT_LT(comm.rank(), comm.size());
  });
}

TEST_P(CommConformance, AllToAllDeliversSegmentsOfAnySizes) {
  for_each_rank([](Comm& comm, Device& device) {
    for (const SizeRule& rule : {SizeRule(different_for_each_pair), SizeRule(mostly_nothing),
                                 SizeRule(nothing), SizeRule(all_but_the_own_block)}) {
      expect_exchange<float>(comm, device, rule);
      expect_exchange<std::uint16_t>(comm, device, rule);
    }
  });
}

TEST_P(CommConformance, AllToAllDeliversLargeSegments) {
  for_each_rank([](Comm& comm, Device& device) { expect_exchange<float>(comm, device, large); });
}

TEST_P(CommConformance, TransfersStartedInOrderMayBeWaitedForInAnyOrder) {
  for_each_rank([](Comm& comm, Device& device) {
    const Queue queue = device.make_queue();
    Exchange<float> first(comm, device, large);
    Exchange<float> second(comm, device, different_for_each_pair);
    first.fill(1);
    second.fill(2);
    first.start(queue);
    second.start(queue);
    if (comm.rank() % 2 == 0) first.wait(queue);
    second.wait(queue);
    if (comm.rank() % 2 == 1) first.wait(queue);
    device.synchronize(queue);
    first.expect_received(1);
    second.expect_received(2);
  });
}

TEST_P(CommConformance, AllGatherDeliversBlocksOfDifferentSizesToAll) {
  for_each_rank([](Comm& comm, Device& device) {
    const auto size_of = [](int rank) { return rank == 1 ? std::int64_t{0} : std::int64_t{3 + 4 * rank}; };
    const Queue queue = device.make_queue();
    std::vector<float> own, all;
    for (std::int64_t i = 0; i < size_of(comm.rank()); ++i)
      own.push_back(payload<float>(comm.rank(), 0, i, 0));
    for (int peer = 0; peer < comm.size(); ++peer)
      for (std::int64_t i = 0; i < size_of(peer); ++i) all.push_back(payload<float>(peer, 0, i, 0));
    const DeviceArray<float> send(device, own);
    const DeviceArray<float> receive(device, std::vector<float>(all.size(), -1.0F));
    BoundAllGather work{.dtype = DType::kFp32, .send = {send.data(), send.size()}, .receives = {}};
    std::int64_t at = 0;
    for (int peer = 0; peer < comm.size(); ++peer) {
      work.receives.push_back({receive.data() + at, size_of(peer)});
      at += size_of(peer);
    }
    const auto transfer = comm.prepare(work);
    transfer->start(queue);
    transfer->wait(queue);
    device.synchronize(queue);
    EXPECT_EQ(receive.read(), all);
    EXPECT_EQ(send.read(), own);
  });
}

TEST_P(CommConformance, AllGatherInPlaceLeavesTheOwnBlockWhereItLies) {
  for_each_rank([](Comm& comm, Device& device) {
    const Queue queue = device.make_queue();
    std::vector<float> before(static_cast<std::size_t>(comm.size()), -1.0F), all;
    before[static_cast<std::size_t>(comm.rank())] = static_cast<float>(comm.rank());
    for (int peer = 0; peer < comm.size(); ++peer) all.push_back(static_cast<float>(peer));
    const DeviceArray<float> array(device, before);
    BoundAllGather work{.dtype = DType::kFp32, .send = {array.data() + comm.rank(), 1}, .receives = {}};
    for (int peer = 0; peer < comm.size(); ++peer) work.receives.push_back({array.data() + peer, 1});
    const auto transfer = comm.prepare(work);
    transfer->start(queue);
    transfer->wait(queue);
    device.synchronize(queue);
    EXPECT_EQ(array.read(), all);
  });
}

TEST_P(CommConformance, CountsPayloadBetweenDifferentRanks) {
  for_each_rank([](Comm& comm, Device& device) {
    EXPECT_EQ(comm.counters().collectives, 0);
    const int n = comm.size();
    expect_exchange<std::uint16_t>(comm, device, different_for_each_pair);
    std::int64_t sent = 0, received = 0;
    for (int peer = 0; peer < n; ++peer) {
      if (peer == comm.rank()) continue;
      sent += different_for_each_pair(comm.rank(), peer);
      received += different_for_each_pair(peer, comm.rank());
    }
    // Three rounds of two-byte elements; a group of one makes no collective.
    EXPECT_EQ(comm.counters().collectives, n > 1 ? 3 : 0);
    EXPECT_EQ(comm.counters().sent, Bytes(3 * 2 * sent));
    EXPECT_EQ(comm.counters().received, Bytes(3 * 2 * received));

    const DeviceArray<float> array(device, std::vector<float>(static_cast<std::size_t>(10 * n)));
    BoundAllGather work{.dtype = DType::kFp32, .send = {array.data() + 10 * comm.rank(), 10}, .receives = {}};
    for (int peer = 0; peer < n; ++peer) work.receives.push_back({array.data() + 10 * peer, 10});
    const auto transfer = comm.prepare(work);
    transfer->start(device.make_queue());
    transfer->wait(device.make_queue());
    EXPECT_EQ(comm.counters().sent, Bytes(3 * 2 * sent + 4 * 10 * (n - 1)));
    EXPECT_EQ(comm.counters().received, Bytes(3 * 2 * received + 4 * 10 * (n - 1)));
  });
}

TEST_P(CommConformance, RefusesSegmentsThatDoNotFitTheGroup) {
  for_each_rank([](Comm& comm, Device& device) {
    const DeviceArray<float> array(device, std::vector<float>(10));
    const auto size = static_cast<std::size_t>(comm.size());
    const std::vector<BoundSegment> empty(size, {nullptr, 0});
    EXPECT_THROW(static_cast<void>(comm.prepare(
                     BoundAllToAll{DType::kFp32, std::vector<BoundSegment>(size + 1, {nullptr, 0}), empty})),
                 RuntimeFailure);
    EXPECT_THROW(static_cast<void>(comm.prepare(BoundAllToAll{DType::kFp32, empty, {}})), RuntimeFailure);
    std::vector<BoundSegment> own_differs = empty;
    own_differs[static_cast<std::size_t>(comm.rank())] = {array.data(), 4};
    EXPECT_THROW(static_cast<void>(comm.prepare(BoundAllToAll{DType::kFp32, own_differs, empty})),
                 RuntimeFailure);
    EXPECT_THROW(static_cast<void>(comm.prepare(BoundAllGather{DType::kFp32, {nullptr, 4}, empty})),
                 RuntimeFailure);
  });
}

}  // namespace
}  // namespace muonbench
