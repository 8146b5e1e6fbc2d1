// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/cuda_device.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <nvtx3/nvToolsExt.h>

#include "src/backend/cuda/kernels.h"
#include "src/backend/cuda/library_versions.h"
#include "src/backend/cuda/multipliers.h"
#include "src/backend/cuda/newton_schulz.h"
#include "src/backend/cuda/ns_slice.h"
#include "src/backend/cuda/optimizer_kernels.h"
#include "src/backend/cuda/symmetric_kernels.h"
#include "src/base/check.h"

namespace muonbench::cuda {
namespace {

std::string pci_of(int ordinal) {
  std::array<char, 32> id{};
  MUONBENCH_CUDA(cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), ordinal));
  return id.data();
}

Capabilities capabilities_of(int ordinal) {
  cudaDeviceProp properties{};
  MUONBENCH_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  return {.backend = "cuda",
          .device_name = properties.name,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .pci = pci_of(ordinal),
          .threads = 1,
          .versions = library_versions(),
          .tf32 = properties.major >= 8,
          .gram = false,
          .medium_storage = DType::kBf16,
          .batching = NsBatching::kTogether};
}

/// Nothing where there is no driver at all.
void refuse_old_driver() {
  int driver = 0;
  MUONBENCH_CUDA(cudaDriverGetVersion(&driver));
  if (driver == 0) return;
  throw ConfigError(text("run.backend: the driver knows CUDA {}.{}, this program needs {}", driver / 1000,
                         driver % 1000 / 10, library_versions().at("cuda")));
}

/// A program holds machine code for the architectures that it was built for.
void refuse_foreign_architecture(int ordinal, const std::string& name) {
  const cudaError_t result = load_kernels();
  if (result != cudaErrorNoKernelImageForDevice && result != cudaErrorInvalidDeviceFunction) {
    MUONBENCH_CUDA(result);
    return;
  }
  int major = 0, minor = 0;
  MUONBENCH_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal));
  MUONBENCH_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal));
  throw ConfigError(
      text("run.backend: this program has no machine code for {} (compute capability {}.{}); build it "
           "with --cuda_archs={}{}{}",
           name, major, minor, major, minor, major == 9 && minor == 0 ? "a" : ""));
}

}  // namespace

int visible_devices() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorInsufficientDriver) refuse_old_driver();
  if (result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver) return 0;
  MUONBENCH_CUDA(result);
  return count;
}

/// A queue. Events are recorded in turn into a ring: who waits for an event that was recorded over waits for
/// a later point of the same queue, which is over only after it.
struct CudaDevice::Stream {
  static constexpr std::int64_t kEvents = 64;

  QueuePriority priority;
  OwnedStream stream;
  DeviceTable workspace;
  std::vector<OwnedEvent> events;
  std::int64_t recorded = 0;

  Stream(const std::shared_ptr<MemoryAccount>& account, QueuePriority of_queue)
      : priority(of_queue),
        stream(priority == QueuePriority::kHigh ? make_high_priority_stream() : make_stream()),
        workspace(account, priority == QueuePriority::kHigh ? 0 : kMatmulWorkspace) {
    events.reserve(kEvents);
    for (std::int64_t i = 0; i < kEvents; ++i) events.push_back(make_event());
  }
  [[nodiscard]] cudaEvent_t event(std::int64_t sequence) const {
    return events[static_cast<std::size_t>(sequence % kEvents)].get();
  }
};

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal) {
  const int visible = visible_devices();
  MUONBENCH_CHECK(ordinal >= 0 && ordinal < visible, "device {} of {} visible devices", ordinal, visible);
  MUONBENCH_CUDA(cudaSetDevice(ordinal));
  capabilities_ = capabilities_of(ordinal);
  refuse_foreign_architecture(ordinal, capabilities_.device_name);
  capabilities_.syrk = capabilities_.gram = has_symmetric_kernels();
  multipliers_ = std::make_unique<Multipliers>(*this);
  host_copies_ = make_stream();
  times_begin_ = make_timed_event();
}

CudaDevice::~CudaDevice() = default;

Capabilities CudaDevice::capabilities() const { return capabilities_; }
std::string CudaDevice::pci() const { return capabilities_.pci.value_or(""); }

Queue CudaDevice::make_queue(QueuePriority priority) {
  const auto known =
      std::ranges::find_if(released_, [&](Queue queue) { return stream_of(queue).priority == priority; });
  if (known != released_.end()) {
    const Queue queue = *known;
    released_.erase(known);
    return queue;
  }
  streams_.push_back(std::make_unique<Stream>(account_, priority));
  return Queue{static_cast<int>(streams_.size()) - 1};
}

const CudaDevice::Stream& CudaDevice::stream_of(Queue queue) const {
  return *streams_.at(static_cast<std::size_t>(queue.index));
}
cudaStream_t CudaDevice::stream(Queue queue) const { return stream_of(queue).stream.get(); }
void* CudaDevice::workspace(Queue queue) const {
  void* const data = stream_of(queue).workspace.data();
  MUONBENCH_CHECK(data != nullptr, "products on a queue of high priority");
  return data;
}

void CudaDevice::release(Queue queue) { released_.push_back(queue); }

Event CudaDevice::record(Queue queue) {
  Stream& on = *streams_.at(static_cast<std::size_t>(queue.index));
  const std::int64_t sequence = on.recorded++;
  MUONBENCH_CUDA(cudaEventRecord(on.event(sequence), on.stream.get()));
  return Event{.queue = queue.index, .sequence = sequence};
}

void CudaDevice::wait(Queue queue, Event event) {
  MUONBENCH_CUDA(cudaStreamWaitEvent(stream(queue), stream_of(Queue{event.queue}).event(event.sequence), 0));
}

void CudaDevice::synchronize(Queue queue) {
  if (watches_.empty()) {
    MUONBENCH_CUDA(cudaStreamSynchronize(stream(queue)));
    return;
  }
  for (;;) {
    const cudaError_t result = cudaStreamQuery(stream(queue));
    if (result == cudaSuccess) return;
    if (result != cudaErrorNotReady) MUONBENCH_CUDA(result);
    poll_watched();
  }
}

void CudaDevice::synchronize_all() {
  for (std::size_t i = 0; i < streams_.size(); ++i) synchronize(Queue{static_cast<int>(i)});
}

CudaDevice::Watch CudaDevice::watch(Watcher watcher) {
  return watches_.insert(watches_.end(), std::move(watcher));
}
void CudaDevice::end_watch(Watch watch) { watches_.erase(watch); }

void CudaDevice::poll_watched() {
  try {
    for (const Watcher& watcher : watches_) watcher.poll();
  } catch (const std::exception&) {
    give_up_watched();
    throw;
  }
}

void CudaDevice::give_up_watched() {
  for (const Watcher& watcher : watches_) watcher.give_up();
}

Event CudaDevice::record_time(Queue queue) {
  if (times_used_ == times_.size()) times_.push_back(make_timed_event());
  MUONBENCH_CUDA(cudaEventRecord(times_[times_used_].get(), stream(queue)));
  return Event{.queue = queue.index, .sequence = static_cast<std::int64_t>(times_used_++)};
}

double CudaDevice::seconds_at(Event event) {
  float milliseconds = 0.0F;
  MUONBENCH_CUDA(cudaEventElapsedTime(&milliseconds, times_begin_.get(),
                                      times_.at(static_cast<std::size_t>(event.sequence)).get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

void CudaDevice::reset_times() {
  times_used_ = 0;
  MUONBENCH_CUDA(cudaEventRecord(times_begin_.get(), host_copies_.get()));
  MUONBENCH_CUDA(cudaEventSynchronize(times_begin_.get()));
}

void CudaDevice::begin_range(const char* name) { static_cast<void>(nvtxRangePushA(name)); }
void CudaDevice::end_range() { static_cast<void>(nvtxRangePop()); }

void CudaDevice::fill(const NormalFill& work) {
  synchronize_all();
  launch_fill(work, host_copies_.get());
  MUONBENCH_CUDA(cudaStreamSynchronize(host_copies_.get()));
}

void CudaDevice::fill_with_zeros(void* data, Bytes size) {
  if (size == Bytes(0)) return;
  synchronize_all();
  MUONBENCH_CUDA(cudaMemsetAsync(data, 0, static_cast<std::size_t>(size.value()), host_copies_.get()));
  MUONBENCH_CUDA(cudaStreamSynchronize(host_copies_.get()));
}

void CudaDevice::copy(void* to, const void* from, Bytes size, cudaMemcpyKind kind) {
  if (size == Bytes(0)) return;
  synchronize_all();
  MUONBENCH_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(size.value()), kind, host_copies_.get()));
  // cudaMemcpy would return from a small upload before it has arrived.
  MUONBENCH_CUDA(cudaStreamSynchronize(host_copies_.get()));
}

void CudaDevice::upload(void* device, const void* host, Bytes size) {
  copy(device, host, size, cudaMemcpyHostToDevice);
}
void CudaDevice::download(void* host, const void* device, Bytes size) {
  copy(host, device, size, cudaMemcpyDeviceToHost);
}

std::unique_ptr<Kernel> CudaDevice::prepare(BoundMomentum work) { return prepare_momentum(*this, work); }
std::unique_ptr<Kernel> CudaDevice::prepare(BoundCopy work) { return prepare_copy(*this, std::move(work)); }
std::unique_ptr<Kernel> CudaDevice::prepare(BoundZeroFill work) {
  return prepare_zero_fill(*this, std::move(work));
}
std::unique_ptr<Kernel> CudaDevice::prepare(BoundNewtonSchulz work) {
  return prepare_newton_schulz(*this, *multipliers_, std::move(work));
}
std::unique_ptr<Kernel> CudaDevice::prepare(BoundNsSlice work) {
  return prepare_ns_slice(*this, *multipliers_, std::move(work));
}
std::unique_ptr<Kernel> CudaDevice::prepare(BoundUpdate work) { return prepare_update(*this, work); }
std::unique_ptr<Kernel> CudaDevice::prepare(BoundAdam work) { return prepare_adam(*this, work); }

}  // namespace muonbench::cuda
