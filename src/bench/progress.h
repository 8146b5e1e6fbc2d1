// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace muonbench {

/// One line on stderr that is written over as steps go by, on a terminal alone, on rank 0 alone.
class Progress {
 public:
  enum class Shown { kYes, kNo };
  explicit Progress(Shown shown) : shown_(shown) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// kYes if stderr is a terminal.
  [[nodiscard]] static Shown on_terminal();

  void show(const std::string& mode, std::int64_t step, std::int64_t steps);
  void clear();

 private:
  Shown shown_;
  bool drawn_ = false;
};

}  // namespace muonbench
