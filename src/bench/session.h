// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/bench/mode_run.h"
#include "src/bench/resolve.h"
#include "src/bench/result.h"
#include "src/bench/trace.h"

namespace muonbench {

/// What only the process around a session knows.
struct Provenance {
  std::vector<std::string> argv;
  std::string version, git_sha;
  bool git_dirty = false;
  std::map<std::string, std::string> versions;  ///< of libraries that no device reports: mpi, compiler
  int local_rank = 0;
  int local_cores = 1;  ///< that the ranks of this host may run on, together
};

/// How a session ended on all ranks alike; the result is filled in on rank 0.
struct SessionOutcome {
  ExitCode code = ExitCode::kDone;
  std::vector<std::string> faults;  ///< what was wrong, a line each, on rank 0
  Result result;
  Trace trace;  ///< without steps unless the context asks for them
};

/// Takes a result as far as it has come, on rank 0: before the first step, and after each mode.
using ResultSink = std::function<void(const Result&)>;

/// One run: every mode of the configuration, measured, checked and collected. Collective over all ranks.
/// duplicated is measured first where others are compared with it; the result keeps the configuration's
/// order.
/// An interrupt ends it between two steps, with what was measured until then and ExitCode::kInterrupted.
[[nodiscard]] SessionOutcome run_session(const ResolvedRun& run, const Provenance& provenance,
                                         RankContext& context, const ResultSink& sink);

}  // namespace muonbench
