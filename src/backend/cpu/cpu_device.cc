// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/cpu_device.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/backend/cpu/blas_info.h"
#include "src/backend/cpu/copy_tiles.h"
#include "src/backend/cpu/elementwise.h"
#include "src/backend/cpu/host_facts.h"
#include "src/backend/cpu/newton_schulz.h"
#include "src/backend/cpu/optimizer_kernels.h"
#include "src/backend/merge_rows.h"
#include "src/backend/out_of_memory.h"
#include "src/base/check.h"
#include "src/base/normal_rows.h"

namespace muonbench::cpu {
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kPageBytes = 4096;

std::size_t index_of(MemoryUse use) { return static_cast<std::size_t>(use); }

// Work that is a plain function of its description and of the step.
template <class Work, class Run>
class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(Work work, Run run) : work_(std::move(work)), run_(std::move(run)) {}
  void enqueue(Queue /*queue*/, const StepContext& context) override { run_(work_, context); }

 private:
  Work work_;
  Run run_;
};

template <class Work, class Run>
std::unique_ptr<Kernel> make_kernel(Work work, Run run) {
  return std::make_unique<FunctionKernel<Work, Run>>(std::move(work), std::move(run));
}

void touch_pages(void* data, std::int64_t size) {
  auto* bytes = static_cast<volatile std::byte*>(data);
  for (std::int64_t at = 0; at < size; at += kPageBytes) bytes[at] = std::byte{0};
}

}  // namespace

CpuDevice::CpuDevice() { limit_blas_threads(); }

Capabilities CpuDevice::capabilities() const {
  return {.backend = "cpu",
          .device_name = processor_name(),
          .memory_bytes = total_memory().value(),
          .pci = std::nullopt,
          .threads = blas_threads(),
          .versions = {{"blas", blas_version()}},
          .tf32 = false,
          .syrk = true,
          .gram = true};
}

Buffer CpuDevice::allocate(Bytes size, MemoryUse use) {
  MUONBENCH_CHECK(size >= Bytes(0), "{} bytes of {}", size.value(), name_of(use));
  if (size == Bytes(0)) return {};
  // Linux hands out more than it has and kills whoever uses it: compare before.
  const Bytes available = available_memory();
  if (size > available) fail_allocation(use, size, available, allocated_);
  const std::int64_t rounded = (size.value() + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(static_cast<std::size_t>(kAlignment), static_cast<std::size_t>(rounded));
  if (data == nullptr) fail_allocation(use, size, available, allocated_);
  touch_pages(data, rounded);
  allocated_.at(index_of(use)) += size;
  return {data, size, use, this, &CpuDevice::free};
}

void CpuDevice::free(void* device, void* data, Bytes size, MemoryUse use) noexcept {
  std::free(data);
  static_cast<CpuDevice*>(device)->allocated_[index_of(use)] -= size;
}

Bytes CpuDevice::allocated(MemoryUse use) const { return allocated_.at(index_of(use)); }

std::optional<Bytes> CpuDevice::peak_allocated() const { return std::nullopt; }
void CpuDevice::reset_peak() {}

Queue CpuDevice::make_queue(QueuePriority /*priority*/) { return Queue{queues_++}; }
Event CpuDevice::record(Queue queue) { return Event{.queue = queue.index, .sequence = events_++}; }
void CpuDevice::wait(Queue /*queue*/, Event /*event*/) {}
void CpuDevice::synchronize(Queue /*queue*/) {}

Event CpuDevice::record_time(Queue queue) {
  times_.push_back(std::chrono::steady_clock::now());
  return Event{.queue = queue.index, .sequence = static_cast<std::int64_t>(times_.size()) - 1};
}

double CpuDevice::seconds_at(Event event) {
  return std::chrono::duration<double>(times_.at(static_cast<std::size_t>(event.sequence)) - times_begin_)
      .count();
}

void CpuDevice::reset_times() {
  times_.clear();
  times_begin_ = std::chrono::steady_clock::now();
}

void CpuDevice::begin_range(const char* /*name*/) {}
void CpuDevice::end_range() {}

void CpuDevice::upload(void* device, const void* host, Bytes size) {
  if (size > Bytes(0)) std::memcpy(device, host, static_cast<std::size_t>(size.value()));
}

void CpuDevice::download(void* host, const void* device, Bytes size) {
  if (size > Bytes(0)) std::memcpy(host, device, static_cast<std::size_t>(size.value()));
}

void CpuDevice::fill(const NormalFill& work) {
  std::vector<float> row(work.dtype == DType::kFp32 ? 0 : static_cast<std::size_t>(work.cols));
  for (std::int64_t r = 0; r < work.rows; ++r) {
    const std::int64_t at = r * work.cols;
    switch (work.dtype) {
      case DType::kFp32:
        fill_normal_row(work.stream, work.first_row + r, work.first_col, work.scale,
                        {static_cast<float*>(work.out) + at, static_cast<std::size_t>(work.cols)});
        break;
      case DType::kBf16:
        fill_normal_row(work.stream, work.first_row + r, work.first_col, work.scale, row);
        bf16_from_fp32(static_cast<std::uint16_t*>(work.out) + at, row.data(), work.cols);
        break;
    }
  }
}

void CpuDevice::fill_with_zeros(void* data, Bytes size) {
  if (size > Bytes(0)) std::memset(data, 0, static_cast<std::size_t>(size.value()));
}

std::unique_ptr<Kernel> CpuDevice::prepare(BoundMomentum work) {
  return make_kernel(std::move(work),
                     [](const BoundMomentum& bound, const StepContext&) { run_momentum(bound); });
}

std::unique_ptr<Kernel> CpuDevice::prepare(BoundCopy work) {
  return make_kernel(merge_rows(std::move(work)),
                     [](const BoundCopy& bound, const StepContext&) { copy_tiles(bound); });
}

std::unique_ptr<Kernel> CpuDevice::prepare(BoundZeroFill work) {
  return make_kernel(std::move(work), [](const BoundZeroFill& bound, const StepContext&) {
    for (const auto& [data, size] : bound.regions)
      if (size > Bytes(0)) std::memset(data, 0, static_cast<std::size_t>(size.value()));
  });
}

std::unique_ptr<Kernel> CpuDevice::prepare(BoundNewtonSchulz work) {
  return prepare_newton_schulz(std::move(work));
}

std::unique_ptr<Kernel> CpuDevice::prepare(BoundNsSlice work) { return prepare_ns_slice(std::move(work)); }

std::unique_ptr<Kernel> CpuDevice::prepare(BoundUpdate work) {
  return make_kernel(std::move(work),
                     [](const BoundUpdate& bound, const StepContext&) { run_update(bound); });
}

std::unique_ptr<Kernel> CpuDevice::prepare(BoundAdam work) {
  return make_kernel(std::move(work), [](const BoundAdam& bound, const StepContext& context) {
    run_adam(bound, context.step + 1);
  });
}

}  // namespace muonbench::cpu
