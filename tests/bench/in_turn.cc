// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/in_turn.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace muonbench {
namespace {

Timing timing_of(std::vector<double> samples, int runs_per_sample) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples.front(), samples.back(), static_cast<int>(samples.size()),
          runs_per_sample};
}

/// The first run pays for what is built on first use, so that the second says how long one takes.
int runs_for(const Contender& contender, Effort effort) {
  contender.run(1);
  const double one = contender.run(1);
  return std::clamp(static_cast<int>(std::ceil(effort.sample_seconds / one)), 1, effort.most_runs);
}

}  // namespace

nlohmann::ordered_json to_json(const Timing& timing) {
  return {{"p50", timing.p50},
          {"min", timing.min},
          {"max", timing.max},
          {"samples", timing.samples},
          {"runs_per_sample", timing.runs_per_sample}};
}

std::vector<Timing> in_turn(const std::vector<Contender>& contenders, Effort effort) {
  std::vector<int> runs;
  runs.reserve(contenders.size());
  for (const Contender& contender : contenders) runs.push_back(runs_for(contender, effort));
  std::vector<std::vector<double>> samples(contenders.size());
  for (int sample = 0; sample < effort.samples; ++sample)
    for (std::size_t i = 0; i < contenders.size(); ++i)
      samples[i].push_back(contenders[i].run(runs[i]) / runs[i]);
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    timings.push_back(timing_of(std::move(samples[i]), runs[i]));
  return timings;
}

Buffer random_array(Device& device, Shape shape, DType dtype, std::uint64_t seed) {
  Buffer buffer = device.allocate(bytes_of(shape.elements(), dtype), MemoryUse::kExchange);
  NormalFill fill;
  fill.out = buffer.data();
  fill.dtype = dtype;
  fill.rows = shape.rows;
  fill.cols = shape.cols;
  fill.stream = seed;
  device.fill(fill);
  return buffer;
}

KernelLoop::KernelLoop(Device& device, std::vector<std::unique_ptr<Kernel>> kernels)
    : device_(device), queue_(device.make_queue()), kernels_(std::move(kernels)) {}

double KernelLoop::operator()(int runs) {
  device_.reset_times();
  const Event begin = device_.record_time(queue_);
  for (int run = 0; run < runs; ++run) enqueue_next();
  const Event end = device_.record_time(queue_);
  device_.synchronize(queue_);
  return device_.seconds_at(end) - device_.seconds_at(begin);
}

double KernelLoop::one_by_one(int runs) {
  const auto begin = std::chrono::steady_clock::now();
  for (int run = 0; run < runs; ++run) {
    enqueue_next();
    device_.synchronize(queue_);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void KernelLoop::enqueue_next() {
  const auto turn = static_cast<std::size_t>(step_) % kernels_.size();
  kernels_[turn]->enqueue(queue_, StepContext{step_});
  ++step_;
}

Contender contender(std::string name, Device& device, std::unique_ptr<Kernel> kernel) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  kernels.push_back(std::move(kernel));
  const auto loop = std::make_shared<KernelLoop>(device, std::move(kernels));
  return {std::move(name), [loop](int runs) { return (*loop)(runs); }};
}

}  // namespace muonbench
