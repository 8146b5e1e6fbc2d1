// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/backend/backend.h"
#include "src/backend/cuda/cuda_resources.h"

namespace muonbench::cuda {

struct Multipliers;

/// Allocations below this share a block with others, which peers that map one of them would get as well.
inline constexpr std::size_t kExportedBlock = std::size_t{2} << 20U;
/// The bytes of as many such blocks as hold `bytes`.
[[nodiscard]] constexpr std::size_t in_exported_blocks(std::size_t bytes) {
  return (bytes + kExportedBlock - 1) / kExportedBlock * kExportedBlock;
}

/// GPUs that this process may use; CUDA_VISIBLE_DEVICES is respected. 0 also where there is no driver.
[[nodiscard]] int visible_devices();

/// One GPU as a device. A queue is a stream; work runs in its order and the host never waits but in
/// synchronize(), upload() and download(). One thread at a time may use it.
class CudaDevice final : public Device {
 public:
  /// `ordinal` counts the visible devices. Throws RuntimeFailure where there is none of that number, or it
  /// cannot be used.
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] Buffer allocate(Bytes size, MemoryUse use) override;
  [[nodiscard]] Bytes allocated(MemoryUse use) const override;
  [[nodiscard]] std::optional<Bytes> peak_allocated() const override;
  void reset_peak() override;

  using Device::make_queue;
  [[nodiscard]] Queue make_queue(QueuePriority priority) override;
  void release(Queue queue) override;
  [[nodiscard]] Event record(Queue queue) override;
  void wait(Queue queue, Event event) override;
  void synchronize(Queue queue) override;

  [[nodiscard]] Event record_time(Queue queue) override;
  [[nodiscard]] double seconds_at(Event event) override;
  void reset_times() override;
  void begin_range(const char* name) override;
  void end_range() override;

  void fill(const NormalFill& work) override;
  void fill_with_zeros(void* data, Bytes size) override;
  void upload(void* device, const void* host, Bytes size) override;
  void download(void* host, const void* device, Bytes size) override;

  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundMomentum work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundCopy work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundZeroFill work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundNewtonSchulz work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundNsSlice work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundUpdate work) override;
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundAdam work) override;

  // For what belongs to this backend: kernels and transports.
  [[nodiscard]] cudaStream_t stream(Queue queue) const;
  /// kMatmulWorkspace bytes that only this queue's products use. A queue of high priority has none.
  [[nodiscard]] void* workspace(Queue queue) const;
  [[nodiscard]] int ordinal() const { return ordinal_; }
  /// The begin of the allocation of use exchange that holds `data`. Such allocations are whole
  /// kExportedBlocks, so that peers can map them.
  [[nodiscard]] std::byte* exchange_allocation(const void* data) const;
  /// "0000:1b:00.0"
  [[nodiscard]] std::string pci() const;
  /// A copy of `host` in device memory.
  template <class T>
  [[nodiscard]] DeviceTable make_table(const std::vector<T>& host) const {
    return {account_, host.data(), host.size() * sizeof(T)};
  }
  /// Who has work in flight that may never end. poll() is called again and again while synchronize() waits,
  /// and throws where it will not; then give_up() is called on all, so that freeing memory waits for nobody's
  /// work.
  struct Watcher {
    std::function<void()> poll, give_up;
  };
  using Watch = std::list<Watcher>::iterator;
  [[nodiscard]] Watch watch(Watcher watcher);
  void end_watch(Watch watch);
  void poll_watched();
  void give_up_watched();

 private:
  struct Stream;
  static void free(void* device, void* data, Bytes size, MemoryUse use) noexcept;
  void synchronize_all();
  void copy(void* to, const void* from, Bytes size, cudaMemcpyKind kind);
  [[nodiscard]] const Stream& stream_of(Queue queue) const;

  int ordinal_;
  Capabilities capabilities_;
  std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();
  std::array<Bytes, kAllMemoryUses.size()> allocated_{};
  std::map<std::byte*, Bytes> exchange_allocations_;  ///< by begin
  std::unique_ptr<Multipliers> multipliers_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Queue> released_;
  OwnedStream host_copies_;
  OwnedEvent times_begin_;
  std::vector<OwnedEvent> times_;
  std::size_t times_used_ = 0;
  std::list<Watcher> watches_;
};

}  // namespace muonbench::cuda
