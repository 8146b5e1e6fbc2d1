// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace muonbench {

/// Ends the process, and with it the job, when one thing takes too long: a peer that died or stalled would
/// otherwise hold this rank in a collective for ever. The launcher sees an unclean exit with
/// ExitCode::kTimeout and ends the other ranks.
class Watchdog {
 public:
  /// `who` heads the message.
  Watchdog(double timeout_seconds, std::string who);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  /// From now on the clock runs for `what`.
  void expect(const std::string& what);

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  std::chrono::duration<double> timeout_;
  std::string who_, what_;
  std::optional<Clock::time_point> deadline_;
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace muonbench
