// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/memory_use.h"
#include "src/base/optimizer_rules.h"
#include "src/base/shape.h"
#include "src/ns/ns_options.h"

/// The seam: everything that differs by device or by wire, nothing that knows what a home, a stage or a
/// parameter is. Work is prepared once, when a program is bound to memory, and then only enqueued: a step
/// allocates and decides nothing. All calls may throw RuntimeFailure, which names the failed library call and
/// its text.
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
      versions;                         ///< of the libraries behind it, by the names of environment.versions
  bool tf32 = false;                    ///< fp32_matmul_prec high
  bool syrk = false, gram = false;      ///< ns_algorithm
  DType medium_storage = DType::kFp32;  ///< in what X, A, B are kept under precision medium
};

// ---- Work bound to addresses. Pointers are device addresses, sizes in elements.

struct BoundMomentumItem {
  float* gradient = nullptr;  ///< written under l2 decay only
  float* master = nullptr;    ///< written unless decay_factor is 0
  float* momentum = nullptr;
  float* ns_input = nullptr;  ///< may alias nothing
  std::int64_t size = 0;
};
struct BoundMomentum {
  MomentumRule rule;
  std::vector<BoundMomentumItem> items;
};

struct BoundTile {
  const void* src = nullptr;
  DType src_dtype = DType::kFp32;
  std::int64_t src_stride = 0;
  void* dst = nullptr;
  DType dst_dtype = DType::kFp32;
  std::int64_t dst_stride = 0;
  Shape shape;
};
struct BoundCopy {
  std::vector<BoundTile> tiles;
};

struct BoundZeroFill {
  std::vector<std::pair<void*, Bytes>> regions;
};

struct BoundNewtonSchulz {
  Shape matrix;
  std::vector<std::pair<const float*, float*>>
      items;                ///< (in, out), (P, Q) fp32 row-major; in == out is allowed
  void* scratch = nullptr;  ///< ns_scratch_layout(matrix).total elements of medium_storage or fp32
  NsOptions options;
};

struct BoundUpdateItem {
  const float* update = nullptr;
  float* master = nullptr;
  void* weight = nullptr;  ///< bf16 copy, or nullptr: the master is the weight
  std::int64_t size = 0;
};
struct BoundUpdate {
  float lr = 0.0F;
  std::vector<BoundUpdateItem> items;
};

struct BoundAdamItem {
  const float* gradient = nullptr;
  float* master = nullptr;
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  void* weight = nullptr;  ///< bf16 copy, or nullptr
  std::int64_t size = 0;
};
struct BoundAdam {
  AdamRule rule;
  std::vector<BoundAdamItem> items;
};

/// What changes from step to step.
struct StepContext {
  std::int64_t step = 0;  ///< from 0; Adam's k is step + 1
};

/// Prepared device work. Enqueue as often as there are steps.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  virtual void enqueue(Queue queue, const StepContext& context) = 0;
};

/// A point in a queue.
struct Event {
  int queue = 0;
  std::int64_t sequence = 0;
};

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
  /// Bytes allocated and not yet freed, by use; and the highest sum so far.
  [[nodiscard]] virtual Bytes allocated(MemoryUse use) const = 0;

  [[nodiscard]] virtual Queue make_queue() = 0;
  [[nodiscard]] virtual Event record(Queue queue) = 0;
  virtual void wait(Queue queue, Event event) = 0;
  virtual void synchronize(Queue queue) = 0;  ///< host waits until the queue is drained

  /// Host to device and back; complete on return.
  virtual void upload(void* device, const void* host, Bytes size) = 0;
  virtual void download(void* host, const void* device, Bytes size) = 0;

  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundMomentum work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundCopy work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundZeroFill work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundNewtonSchulz work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundUpdate work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Kernel> prepare(BoundAdam work) = 0;
};

// ---- The wire.

/// A piece of memory that goes to or comes from one peer.
struct BoundSegment {
  void* data = nullptr;
  std::int64_t size = 0;  ///< elements
};

/// sends[p] goes to group rank p, receives[p] comes from it; the own pair is copied on the device. Empty
/// pairs move nothing: both sides leave them out.
struct BoundAllToAll {
  DType dtype = DType::kFp32;
  std::vector<BoundSegment> sends, receives;
};
/// `send` goes to every other rank, receives[p] comes from p; the own block is copied on the device.
struct BoundAllGather {
  DType dtype = DType::kFp32;
  BoundSegment send;
  std::vector<BoundSegment> receives;
};

/// What a communicator moved since it was made; payload to and from other ranks.
struct TrafficCounters {
  std::int64_t collectives = 0;
  Bytes sent, received;
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

/// One process group as seen from one rank. All ranks of the group start its transfers in the same order.
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
};

}  // namespace muonbench
