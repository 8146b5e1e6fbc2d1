// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/bench/mode_run.h"
#include "src/bench/resolve.h"
#include "src/bench/result.h"

namespace muonbench {

/// What only the process around a session knows.
struct Provenance {
  std::vector<std::string> argv;
  std::string version, git_sha;
  bool git_dirty = false;
  std::map<std::string, std::string> versions;  ///< of libraries that no device reports: mpi, compiler
  int local_rank = 0;
};

/// How a session ended on all ranks alike; the result is filled in on rank 0.
struct SessionOutcome {
  ExitCode code = ExitCode::kDone;
  std::vector<std::string> faults;  ///< what was wrong, a line each, on rank 0
  Result result;
};

/// One run: every mode of the configuration, measured, checked and collected. Collective over all ranks.
/// duplicated is measured first where others are compared with it; the result keeps the configuration's
/// order.
[[nodiscard]] SessionOutcome run_session(const ResolvedRun& run, const Provenance& provenance,
                                         RankContext& context);

}  // namespace muonbench
