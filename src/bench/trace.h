// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What --trace shows, as plain values: every timed step of every mode on every rank.
namespace muonbench {

struct TracedRank {
  int rank = 0;
  std::string host;
  int g = 0, t = 0;
};

/// What one queue of a rank was busy with for a while: consecutive ops of one phase.
struct TraceSpan {
  std::string phase;
  int queue = 0;
  double begin_seconds = 0, end_seconds = 0;  ///< since the step began on the rank
  double complete_seconds = 0;  ///< later than the end if the queue went on while a collective was under way
  std::int64_t ops = 0, collectives = 0, sent_bytes = 0, received_bytes = 0;
};

struct TracedStep {
  int rank = 0;
  std::string mode;
  std::int64_t step = 0;  ///< from 0 over warm-up and timed steps
  double begin_seconds =
      0;               ///< since the first traced step; all ranks' equal, by the barrier before the step
  double seconds = 0;  ///< the rank's own
  std::vector<TraceSpan> spans;
};

struct Trace {
  std::string version, git_sha, time;
  std::vector<std::string> argv;
  std::vector<TracedRank> ranks;
  std::vector<TracedStep> steps;
  /// The most by which ranks of one host, which share a clock, left a barrier one after the other: the ranks
  /// are out of line by as much. None where no two ranks share a host.
  std::optional<double> largest_start_skew_seconds;
};

}  // namespace muonbench
