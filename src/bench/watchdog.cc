// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/watchdog.h"

#include <algorithm>
#include <utility>

#include "src/base/end_process.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace muonbench {

Watchdog::Watchdog(double timeout_seconds, std::string who)
    : timeout_(std::min(timeout_seconds, 1e9)), who_(std::move(who)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::expect(const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    what_ = what;
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout_);
  }
  changed_.notify_one();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!deadline_) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point deadline = *deadline_;
    changed_.wait_until(lock, deadline);
    if (stop_ || !deadline_ || *deadline_ != deadline || Clock::now() < deadline) continue;
    log_error(
        text("watchdog: {}: {} was not over after run.timeout_seconds = {}; a peer may be dead or stalled",
             who_, what_, timeout_.count()));
    end_process(ExitCode::kTimeout);
  }
}

}  // namespace muonbench
