// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "src/backend/backend.h"

namespace muonbench::cpu {

/// The processor as a device: host memory and OpenBLAS. Work runs on the calling thread while it is enqueued,
/// so every event is over when it is recorded. One thread at a time may use it.
class CpuDevice final : public Device {
 public:
  CpuDevice();
  ~CpuDevice() override = default;

  [[nodiscard]] Capabilities capabilities() const override;
  /// Pages are touched here, so that no step pays for their first use, and a job that does not fit is told so
  /// now.
  [[nodiscard]] Buffer allocate(Bytes size, MemoryUse use) override;
  [[nodiscard]] Bytes allocated(MemoryUse use) const override;
  [[nodiscard]] std::optional<Bytes> peak_allocated() const override;
  void reset_peak() override;

  using Device::make_queue;
  [[nodiscard]] Queue make_queue(QueuePriority priority) override;
  [[nodiscard]] Event record(Queue queue) override;
  void wait(Queue queue, Event event) override;
  void synchronize(Queue queue) override;

  [[nodiscard]] Event record_time(Queue queue) override;
  [[nodiscard]] double seconds_at(Event event) override;
  void reset_times() override;
  void begin_range(const char* name) override;
  void end_range() override;

  void upload(void* device, const void* host, Bytes size) override;
  void download(void* host, const void* device, Bytes size) override;

  void fill(const NormalFill& work) override;
  void fill_with_zeros(void* data, Bytes size) override;

  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundMomentum work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundCopy work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundZeroFill work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundNewtonSchulz work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundNsSlice work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundUpdate work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundAdam work) override;

 private:
  static void free(void* device, void* data, Bytes size, MemoryUse use) noexcept;

  std::array<Bytes, kAllMemoryUses.size()> allocated_{};
  int queues_ = 0;
  std::int64_t events_ = 0;
  std::chrono::steady_clock::time_point times_begin_;
  std::vector<std::chrono::steady_clock::time_point> times_;
};

}  // namespace muonbench::cpu
