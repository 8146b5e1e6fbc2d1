// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <nccl.h>

namespace muonbench::cuda {

/// Owns one nonblocking NCCL communicator. Making and ending it are collective over the group.
class NcclHandle {
 public:
  /// Waits for all ranks of the group. `id` is the same on all of them.
  NcclHandle(const ncclUniqueId& id, int size, int rank);
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;
  NcclHandle(NcclHandle&&) = delete;
  NcclHandle& operator=(NcclHandle&&) = delete;
  /// Ends together with the peers; without them after an error, or while an exception is on its way: they may
  /// be gone, or inside a collective that this rank will never join.
  ~NcclHandle();

  [[nodiscard]] ncclComm_t get() const { return comm_; }

  /// Waits until what `call` asked of the communicator is under way: a group may be enqueued by a thread of
  /// NCCL's. Throws RuntimeFailure, naming the call, if that failed.
  void settle(const char* call);

  /// Throws RuntimeFailure if the communicator failed since it was last asked, and ends it first, so that
  /// kernels that wait for a peer come to their end.
  void poll();

  /// Ends the communicator without its peers. It cannot be used afterwards.
  void abort() noexcept;

 private:
  [[nodiscard]] ncclResult_t state() const;

  ncclComm_t comm_ = nullptr;
};

}  // namespace muonbench::cuda
