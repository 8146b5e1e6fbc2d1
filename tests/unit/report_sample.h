// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/bench/result.h"

namespace muonbench {

/// Two ranks of tp 2, one fully known mode with binary fractions for numbers (their digits are exact), one
/// mode of which nothing was measured, as a plan leaves it.
[[nodiscard]] inline Result sample_result() {
  Result result;
  result.complete = true;
  result.config_json =
      R"({"schema_version":1,"name":"sample, \"quoted\"","parallelism":{"tp":2,"gtp_remat":1},)"
      R"("run":{"backend":"cpu","transport":"mpi","param_dtype":"bf16"}})";
  result.argv = {"muonbench", "run"};
  EnvironmentInfo& environment = result.environment.emplace();
  environment.version = "1.2.3";
  environment.git_sha = "0123abc";
  environment.time = "2026-03-01T12:00:00Z";
  environment.hosts = {"h0"};
  environment.ranks_per_host = {{"h0", 2}};
  environment.cores = 2;
  environment.devices = {{0, "h0", 0, "some CPU", 1024, std::nullopt},
                         {1, "h0", 1, "some CPU", 1024, "0000:1b:00.0"}};
  environment.versions = {{"blas", "OpenBLAS 0.3"}, {"compiler", "g++ 12"}, {"mpi", "Open MPI 4"}};
  result.model = {192, 128, 64, 1, 4096};
  result.homes = {{"w", 0, 1}, {"v", 0, std::nullopt}};

  ModeInfo measured;
  measured.mode = "layer_sharded";
  measured.ns_algorithm = "syrk";
  measured.ns_whole = 3;
  measured.ns_algorithms = {{"gram", 2}, {"syrk", 3}};
  measured.step_seconds = TimeSummary{0.25, 0.5, 0.75, 1.0, 0.625, {1.0, 0.25}};
  measured.first_step_seconds = 2.0;
  measured.phases_seconds = {{"adam", 0.125}, {"momentum", 0.0625}, {"ns", 0.25}};
  measured.throughput = {0.5, 384.0, 1.5, 0.75};
  measured.speedup_vs_duplicated = 2.5;
  measured.ns_cost_max_over_mean = 2.0;
  measured.state_max_over_mean = 1.25;
  for (int t = 0; t < 2; ++t) {
    RankInfo rank;
    rank.rank = t;
    rank.host = "h0";
    rank.t = t;
    rank.memory = {1 << 20, 2 << 20, 3 << 20, 4 << 20,  5,       6 << 20,
                   7 << 20, 8 << 20, 9 << 20, 31 << 20, 64 << 20};
    rank.memory.state_bytes += t << 20;
    rank.ns_calls = t;
    rank.ns_flops = t * 4'096'000'000;
    rank.collectives = 3;
    rank.sent_bytes = 1 << 19;
    rank.received_bytes = 1 << 18;
    rank.step_seconds_p50 = 0.375 + 0.125 * t;
    measured.ranks.push_back(rank);
  }
  measured.parity = {"duplicated", true, 0.0, std::nullopt};
  measured.nonfinite_values = 0;
  measured.concurrent_groups = {true, 2, "a and b share the tp communicator"};
  measured.owners = {{"w", 1}};
  measured.homes = {{"w", 1, std::nullopt}};
  measured.overlap = OverlapInfo{0.75, 0.5, 0.25};
  measured.decisions = std::vector{DecisionInfo{"w", "distributed", "tp", 2}};
  measured.params = {{"w", {8, 16}, "tp", HomeInfo{"w", 0, 1}, 0.125, 0.25, "00000000000000ff"}};

  ModeInfo planned;
  planned.mode = "adam_dim0";
  planned.ranks.resize(1);
  planned.parity.why = "no Newton-Schulz in this mode";
  planned.params = {{"e", {64}, "replicated", std::nullopt, std::nullopt, std::nullopt, std::nullopt}};

  result.modes = {measured, planned};
  return result;
}

}  // namespace muonbench
