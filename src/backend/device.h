// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/backend/ns_slice_work.h"
#include "src/backend/work.h"
#include "src/base/dtype.h"
#include "src/base/memory_use.h"

namespace muonbench {

/// In-order work of one device. A CPU runs work while it is enqueued.
struct Queue {
  int index = 0;
};

/// Owns a piece of device memory. Move-only; frees on destruction, so it must not outlive its Device.
class Buffer {
 public:
  using Free = void (*)(void* device, void* data, Bytes size, MemoryUse use) noexcept;
  Buffer() = default;
  Buffer(void* data, Bytes size, MemoryUse use, void* device, Free free) noexcept
      : data_(data), size_(size), use_(use), device_(device), free_(free) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) free_(device_, data_, size_, use_);
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] Bytes size() const { return size_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(use_, other.use_);
    std::swap(device_, other.device_);
    std::swap(free_, other.free_);
  }
  void* data_ = nullptr;
  Bytes size_;
  MemoryUse use_ = MemoryUse::kExchange;
  void* device_ = nullptr;
  Free free_ = nullptr;
};

/// What a device can do; a plain value that validates a configuration before anything runs.
struct Capabilities {
  std::string backend;  ///< "cpu", "cuda"
  std::string device_name;
  std::int64_t memory_bytes = 0;
  std::optional<std::string> pci;  ///< bus id; none for a CPU
  int threads = 1;                 ///< that one product uses; cores of a CPU
  std::map<std::string, std::string>
      versions;                     ///< of the libraries behind it, by the names of environment.versions
  bool tf32 = false;                ///< fp32_matmul_prec high
  bool syrk = false, gram = false;  ///< ns_algorithm
  // What NsOptions must say of this device's NS.
  DType medium_storage = DType::kFp32;  ///< under precision medium; fp32 under the others
  NsBatching batching = NsBatching::kInTurn;
};

/// Prepared device work. Enqueue as often as there are steps.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  /// Makes what an enqueue on `queue` needs, so that no step has to.
  virtual void make_ready(Queue /*queue*/) {}
  virtual void enqueue(Queue queue, const StepContext& context) = 0;
};

/// A point in a queue.
struct Event {
  int queue = 0;
  std::int64_t sequence = 0;
};

/// Of work that could begin on several queues, that of high priority does. Such a queue takes no NS.
enum class QueuePriority { kNormal, kHigh };

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// 256-byte aligned, contents undefined. Throws RuntimeFailure naming use, bytes asked for and bytes
  /// available.
  [[nodiscard]] virtual Buffer allocate(Bytes size, MemoryUse use) = 0;
  /// Bytes allocated and not yet freed.
  [[nodiscard]] virtual Bytes allocated(MemoryUse use) const = 0;
  /// The most bytes that were allocated at a time since reset_peak(), workspaces of libraries included. None
  /// where the memory is the process's own.
  [[nodiscard]] virtual std::optional<Bytes> peak_allocated() const = 0;
  virtual void reset_peak() = 0;

  [[nodiscard]] virtual Queue make_queue(QueuePriority priority) = 0;
  [[nodiscard]] Queue make_queue() { return make_queue(QueuePriority::kNormal); }
  /// Nothing is enqueued on `queue` any more: its resources may serve another one.
  virtual void release(Queue /*queue*/) {}
  [[nodiscard]] virtual Event record(Queue queue) = 0;
  virtual void wait(Queue queue, Event event) = 0;
  virtual void synchronize(Queue queue) = 0;  ///< host waits until the queue is drained

  /// A point in a queue that remembers when it was reached. One may record as many as a step has ops;
  /// reset_times() forgets them all.
  [[nodiscard]] virtual Event record_time(Queue queue) = 0;
  /// Seconds from the last reset_times() to `event`, which must have been reached.
  [[nodiscard]] virtual double seconds_at(Event event) = 0;
  virtual void reset_times() = 0;

  /// A named range of what the host enqueues, for profilers. Ranges nest.
  virtual void begin_range(const char* name) = 0;
  virtual void end_range() = 0;

  /// Host to device and back; complete on return.
  virtual void upload(void* device, const void* host, Bytes size) = 0;
  virtual void download(void* host, const void* device, Bytes size) = 0;

  /// Fills memory with generated values; complete on return. The bits are the same on every device.
  virtual void fill(const NormalFill& work) = 0;
  virtual void fill_with_zeros(void* data, Bytes size) = 0;

  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundMomentum work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundCopy work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundZeroFill work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundNewtonSchulz work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundNsSlice work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundUpdate work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundAdam work) = 0;
};

}  // namespace muonbench
