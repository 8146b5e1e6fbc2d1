// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/interrupt.h"

#include <chrono>
#include <signal.h>
#include <utility>

#include "src/base/check.h"
#include "src/base/end_process.h"
#include "src/base/error.h"

namespace muonbench {
namespace {

/// Open MPI kills a rank five seconds after it asked it to end.
constexpr std::chrono::seconds kGrace{4};
constexpr std::chrono::milliseconds kLook{50};

/// Set by the handler, which may run on any thread: libraries start some before main, so blocking the signals
/// and waiting for them on one thread would not hold.
std::atomic<bool> signalled = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void take_signal(int /*signal*/) { signalled = true; }

}  // namespace

Interrupt::Interrupt() {
  struct sigaction action = {};
  action.sa_handler = take_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) {
    const int failed = sigaction(signal, &action, nullptr);
    MUONBENCH_CHECK(failed == 0, "signal {}", signal);
  }
  thread_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  over_ = true;
  thread_.join();
}

const std::atomic<bool>& Interrupt::requested() const { return signalled; }

Interrupt::Scope::Scope(Interrupt& interrupt, std::function<void()> on_signal) : interrupt_(interrupt) {
  const std::lock_guard lock(interrupt_.mutex_);
  interrupt_.on_signal_ = std::move(on_signal);
}

Interrupt::Scope::~Scope() {
  const std::lock_guard lock(interrupt_.mutex_);
  interrupt_.on_signal_ = nullptr;
}

void Interrupt::watch() {
  while (!signalled) {
    if (over_) return;
    std::this_thread::sleep_for(kLook);
  }
  {
    const std::lock_guard lock(mutex_);
    if (on_signal_) on_signal_();
  }
  const auto end = std::chrono::steady_clock::now() + kGrace;
  while (std::chrono::steady_clock::now() < end) {
    if (over_) return;
    std::this_thread::sleep_for(kLook);
  }
  // The step is longer than the grace.
  end_process(ExitCode::kInterrupted);
}

}  // namespace muonbench
