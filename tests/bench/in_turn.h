// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "src/backend/backend.h"

namespace muonbench {

/// Something whose speed is wanted: `run(n)` does it n times and returns the seconds that all of them took.
struct Contender {
  std::string name;
  std::function<double(int runs)> run;
};

/// How long to look: so many samples, each of as many runs as fill `sample_seconds`.
struct Effort {
  int samples = 11;
  double sample_seconds = 0.01;
  int most_runs = 200;  ///< in a sample
};

/// Seconds of one run, over the samples.
struct Timing {
  double p50 = 0.0, min = 0.0, max = 0.0;
  int samples = 0, runs_per_sample = 0;
};
[[nodiscard]] nlohmann::ordered_json to_json(const Timing& timing);

/// Takes samples of the contenders in turn, A B C A B C, so that a change in clock or temperature meets them
/// alike. A first round warms up and says how many runs make a sample.
[[nodiscard]] std::vector<Timing> in_turn(const std::vector<Contender>& contenders, Effort effort);

/// normal(0, 1) on the device. Never zeros: products of zeros draw less power and run faster than those of
/// data.
[[nodiscard]] Buffer random_array(Device& device, Shape shape, DType dtype, std::uint64_t seed);

/// Kernels enqueued one after the other, and round again, without a pause; timed by the device.
class KernelLoop {
 public:
  KernelLoop(Device& device, std::vector<std::unique_ptr<Kernel>> kernels);
  [[nodiscard]] double operator()(int runs);
  /// One run at a time, by the host's clock: from enqueue until the device has drained.
  [[nodiscard]] double one_by_one(int runs);

 private:
  void enqueue_next();
  Device& device_;
  Queue queue_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::int64_t step_ = 0;
};

/// A contender that shares ownership of what it runs.
[[nodiscard]] Contender contender(std::string name, Device& device, std::unique_ptr<Kernel> kernel);

}  // namespace muonbench
