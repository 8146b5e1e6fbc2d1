// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "src/bench/result.h"
#include "src/report/report.h"

namespace muonbench {

/// The file of --output, kept true while a run goes on: from the first step on it stands there, not complete,
/// so that no older file is taken for this run's. Each version replaces the one before as a whole. May be
/// used from two threads.
class OutputFile {
 public:
  /// An empty path: no file is written.
  OutputFile(std::string path, Overwrite overwrite) : path_(std::move(path)), overwrite_(overwrite) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() = default;

  void update(const Result& so_far);
  void finish(const Result& result);
  /// Writes what came last, its status "interrupted", unless it is finished or nothing came yet. Throws
  /// nothing: there is nobody left to catch it.
  void mark_interrupted() noexcept;

 private:
  enum class State { kUntouched, kUnderWay, kFinished };
  void write(State state, const Result& result);

  std::string path_;
  Overwrite overwrite_;  ///< of what stood there before this run
  State state_ = State::kUntouched;
  Result latest_;
  std::mutex mutex_;
};

}  // namespace muonbench
