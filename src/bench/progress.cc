// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/progress.h"

#include <cstdio>
#include <unistd.h>

#include "src/base/text.h"

namespace muonbench {

Progress::Shown Progress::on_terminal() { return isatty(STDERR_FILENO) == 1 ? Shown::kYes : Shown::kNo; }

void Progress::show(const std::string& mode, std::int64_t step, std::int64_t steps) {
  if (shown_ == Shown::kNo) return;
  const std::string line = text("\r\x1b[K{}: step {} of {}", mode, step + 1, steps);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace muonbench
