// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/exec/executor.h"

#include <algorithm>
#include <chrono>

#include "src/base/check.h"
#include "src/exec/bind.h"
#include "src/exec/device_range.h"
#include "src/exec/queue_priorities.h"

namespace muonbench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

/// An op ready to run. A transfer is complete once some queue has waited for it.
struct Executor::BoundOp {
  Prepared work;
  Queue queue;
  Event done;  ///< set when another queue depends on it
  bool crosses_queues = false;
  bool in_flight = false;  ///< a transfer that was started and that no queue has waited for

  [[nodiscard]] Transfer* transfer() const {
    const auto* held = std::get_if<std::unique_ptr<Transfer>>(&work);
    return held != nullptr ? held->get() : nullptr;
  }
};

Executor::Executor(const StepProgram& program, Device& device, const CommTable& comms)
    : program_(program), device_(device) {
  for (const QueuePriority priority : queue_priorities(program_))
    queues_.push_back(device_.make_queue(priority));
  bind_buffers();
  bind_ops(comms);
  find_phases();
}

Executor::~Executor() {
  for (const Queue queue : queues_) device_.release(queue);
}

void Executor::bind_buffers() {
  addresses_.assign(program_.buffers.size(), nullptr);
  const auto allocate = [&](Bytes size, MemoryUse use) {
    memory_.push_back(device_.allocate(size, use));
    return static_cast<std::byte*>(memory_.back().data());
  };
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const BufferSpec& buffer = program_.buffers[i];
    if (buffer.slot && buffer.size > Elements(0)) addresses_[i] = allocate(buffer.bytes(), buffer.use);
  }
  for (const auto& [use, arena] : program_.arenas) {
    if (arena.size == Bytes(0)) continue;
    std::byte* base = allocate(arena.size, use);
    for (const auto& [buffer, offset] : arena.offsets)
      addresses_[static_cast<std::size_t>(buffer.index)] = base + offset.value();
  }
}

void Executor::bind_ops(const CommTable& comms) {
  for (const Op& op : program_.ops) {
    const auto group = group_of(op);
    Comm* comm = group ? &comms(*group) : nullptr;
    bound_.push_back(BoundOp{prepare_op(program_, op, addresses_, device_, comm),
                             queues_[static_cast<std::size_t>(op.queue)], Event{}});
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&bound_.back().work))
      (*kernel)->make_ready(bound_.back().queue);
    for (const int before : op.after) {
      BoundOp& earlier = bound_[static_cast<std::size_t>(before)];
      if (earlier.queue.index != bound_.back().queue.index) earlier.crosses_queues = true;
    }
  }
}

void Executor::find_phases() {
  for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
    const Phase phase = program_.ops[static_cast<std::size_t>(i)].phase;
    if (phases_.empty() || phases_.back().phase != phase) phases_.push_back({phase, i, i});
    phases_.back().end = i + 1;
  }
}

Queue Executor::queue_of(int op) const {
  return queues_[static_cast<std::size_t>(program_.ops[static_cast<std::size_t>(op)].queue)];
}

void Executor::complete(int op, Queue queue) {
  BoundOp& bound = bound_[static_cast<std::size_t>(op)];
  if (bound.in_flight) {
    bound.transfer()->wait(queue);
    bound.in_flight = false;
    bound.queue = queue;
    if (bound.crosses_queues) bound.done = device_.record(queue);
    if (recorder_ != nullptr) recorder_->completes(op, queue);
  } else if (bound.queue.index != queue.index) {
    device_.wait(queue, bound.done);
  }
}

void Executor::complete_before(int op) {
  for (const int before : program_.ops[static_cast<std::size_t>(op)].after) complete(before, queue_of(op));
}

void Executor::start(int op, const StepContext& context) {
  BoundOp& bound = bound_[static_cast<std::size_t>(op)];
  bound.queue = queue_of(op);
  if (recorder_ != nullptr) recorder_->starts(op, bound.queue);
  if (Transfer* transfer = bound.transfer()) {
    transfer->start(bound.queue);
    bound.in_flight = true;
    return;
  }
  std::get<std::unique_ptr<Kernel>>(bound.work)->enqueue(bound.queue, context);
  if (recorder_ != nullptr) recorder_->completes(op, bound.queue);
  if (bound.crosses_queues) bound.done = device_.record(bound.queue);
}

void Executor::drain() {
  for (int op = 0; op < static_cast<int>(bound_.size()); ++op) {
    const BoundOp& bound = bound_[static_cast<std::size_t>(op)];
    if (bound.in_flight) complete(op, bound.queue);
  }
  for (const Queue queue : queues_) device_.synchronize(queue);
}

void Executor::enqueue(const PhaseRun& run, const StepContext& context) {
  const DeviceRange range(device_, name_of(run.phase).data());
  for (int op = run.begin; op < run.end; ++op) {
    complete_before(op);
    start(op, context);
  }
}

StepTimes Executor::run_step(const StepContext& context, PhaseTiming timing, StepRecorder* recorder) {
  StepTimes times;
  recorder_ = recorder;
  const Clock::time_point begin = Clock::now();
  if (recorder_ != nullptr) recorder_->begin_step();
  Clock::time_point phase_begin = begin;
  for (const PhaseRun& run : phases_) {
    enqueue(run, context);
    if (timing == PhaseTiming::kOff) continue;
    drain();
    times.phases[static_cast<std::size_t>(run.phase)] += seconds_since(phase_begin);
    phase_begin = Clock::now();
  }
  drain();
  times.seconds = seconds_since(begin);
  recorder_ = nullptr;
  return times;
}

void* Executor::data(BufferId buffer) const { return addresses_[static_cast<std::size_t>(buffer.index)]; }

}  // namespace muonbench
