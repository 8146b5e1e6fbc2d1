// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/cli/output_file.h"

#include <exception>
#include <filesystem>

#include "src/base/log.h"
#include "src/report/report.h"

namespace muonbench {

void OutputFile::write(State state, const Result& result) {
  if (path_.empty()) return;
  const std::lock_guard lock(mutex_);
  write_file_atomically(path_, to_json(result), state_ == State::kUntouched ? overwrite_ : Overwrite::kAllow);
  state_ = state;
  latest_ = result;
}

void OutputFile::update(const Result& so_far) {
  // A pipe or a terminal takes one document: what it has read cannot be replaced.
  const auto type = std::filesystem::status(path_).type();
  if (type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found)
    write(State::kUnderWay, so_far);
}

void OutputFile::finish(const Result& result) { write(State::kFinished, result); }

void OutputFile::mark_interrupted() noexcept {
  const std::lock_guard lock(mutex_);
  if (path_.empty() || state_ != State::kUnderWay) return;
  latest_.status = "interrupted";
  try {
    write_file_atomically(path_, to_json(latest_));
  } catch (const std::exception& error) {
    log_error(error.what());
  }
}

}  // namespace muonbench
