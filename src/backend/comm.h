// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "src/backend/device.h"
#include "src/backend/work.h"

namespace muonbench {

/// What a communicator moved since it was made; payload to and from other ranks, whatever way the library
/// takes. A reduce_scatter sends what the others sum and receives n - 1 blocks of its own size; an all_reduce
/// counts as a reduce_scatter of even parts and an all_gather of the sums.
struct TrafficCounters {
  std::int64_t collectives = 0;
  Bytes sent, received;

  TrafficCounters& operator+=(const TrafficCounters& other) {
    collectives += other.collectives;
    sent += other.sent;
    received += other.received;
    return *this;
  }
  friend TrafficCounters operator-(const TrafficCounters& a, const TrafficCounters& b) {
    return {a.collectives - b.collectives, a.sent - b.sent, a.received - b.received};
  }
};

/// A prepared collective. At most one run of it is in flight.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;
  /// Begins when the work enqueued on `queue` so far is done. Returns at once where the transport can.
  virtual void start(Queue queue) = 0;
  /// Work enqueued on `queue` afterwards sees the received data, and may overwrite the sent.
  virtual void wait(Queue queue) = 0;
};

/// One process group as seen from one rank. All ranks of the group prepare, start and destroy its transfers
/// in the same order: each of these may wait for the others.
class Comm {
 public:
  Comm() = default;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  virtual ~Comm() = default;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual TrafficCounters counters() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> prepare(BoundAllToAll work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> prepare(BoundAllGather work) = 0;
  /// Equal values give equal bits in every run.
  [[nodiscard]] virtual std::unique_ptr<Transfer> prepare(BoundAllReduce work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> prepare(BoundReduceScatter work) = 0;
};

}  // namespace muonbench
