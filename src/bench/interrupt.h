// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace muonbench {

/// SIGINT and SIGTERM as a request to stop. A launcher that is interrupted sends its ranks SIGTERM and kills
/// them a few seconds later, so there is time to end the running step and to say in the result what happened,
/// and no more. If the process has not ended by itself some seconds after the first signal, it is ended with
/// ExitCode::kInterrupted. One object a process.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  /// True from the first signal on.
  [[nodiscard]] const std::atomic<bool>& requested() const;

  /// Runs at the first signal, on a thread of this object's, for as long as the scope lives.
  class Scope {
   public:
    Scope(Interrupt& interrupt, std::function<void()> on_signal);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    Interrupt& interrupt_;
  };

 private:
  void watch();

  std::mutex mutex_;
  std::function<void()> on_signal_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace muonbench
