// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The result of one run as plain values: one member per field of the JSON schema, bytes and seconds only, an
/// unknown value is empty (null in JSON). Formulas of derived fields: results/README.md.
namespace muonbench {

inline constexpr int kResultSchemaVersion = 1;

/// Order statistics over `samples`, the slowest rank's time per step. Percentiles interpolate linearly.
struct TimeSummary {
  double min = 0, p50 = 0, p95 = 0, max = 0, mean = 0;
  std::vector<double> samples;
};

struct DeviceInfo {
  int rank = 0;
  std::string host;
  int local_rank = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
  std::optional<std::string> pci;
};

struct EnvironmentInfo {
  std::string version, git_sha;
  bool git_dirty = false;
  std::string time;  ///< ISO 8601, UTC
  std::vector<std::string> hosts;
  std::map<std::string, int> ranks_per_host;
  int cores = 0;                ///< of the host with the fewest
  bool oversubscribed = false;  ///< more ranks x BLAS threads than cores on some host
  int blas_threads = 1;
  std::vector<DeviceInfo> devices;
  std::map<std::string, std::optional<std::string>> versions;  ///< mpi, nccl, cuda, cublas, blas, compiler
};

struct ModelInfo {
  std::int64_t parameters = 0, muon_parameters = 0, adam_parameters = 0, muon_matrices = 0, ns_flops = 0;
};

struct HomeInfo {
  std::string param;
  int g = 0;
  std::optional<int> t;
};

/// Which replica keeps a parameter's state: a dp index, an expert's on the expert grid.
struct OwnerInfo {
  std::string param;
  int dp = 0;
};

struct MemoryInfo {
  std::int64_t weights_bytes = 0, master_bytes = 0, momentum_bytes = 0, adam_bytes = 0, pad_bytes = 0,
               gradient_bytes = 0;
  std::int64_t exchange_bytes = 0, ns_scratch_bytes = 0, state_bytes = 0, peak_bytes = 0;
  std::optional<std::int64_t> process_peak_bytes;  ///< measured
};

struct RankInfo {
  int rank = 0;
  std::string host;
  int g = 0, t = 0;
  MemoryInfo memory;
  std::int64_t ns_calls = 0, ns_flops = 0, collectives = 0, sent_bytes = 0, received_bytes = 0;
  std::optional<double> step_seconds_p50;
};

struct ParityInfo {
  std::optional<std::string> reference_mode;
  std::optional<bool> bit_identical;
  std::optional<double> max_abs_diff;
  std::optional<std::string> why;
};

struct ParamInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string sharding;
  std::optional<HomeInfo> home;
  std::optional<double> delta_abs_min, delta_abs_max;
  std::optional<std::string> digest;  ///< 16 hex digits
};

/// How much of exchange and NS went on at once: (serial - overlapped) / min(exchange, NS), of medians in s.
struct OverlapInfo {
  double serial_seconds = 0;         ///< a step whose phases wait for one another
  double overlapped_seconds = 0;     ///< a step of the same run in which none does
  std::optional<double> efficiency;  ///< none without exchange or without NS
};

struct ThroughputInfo {
  std::optional<double> ns_tflops, parameters_per_second, exchange_algbw_gbs, exchange_busbw_gbs;
};

/// Where NS of one parameter runs, by mode auto or by muon.split_oversized.
struct DecisionInfo {
  std::string param;
  std::string runs;                 ///< duplicated or distributed; whole or distributed
  std::optional<std::string> over;  ///< distributed: over which axis,
  std::optional<int> ranks;         ///< of how many ranks
};

/// muon.concurrent_groups as it came out: whether pipelines of param groups may overlap in this mode.
struct ConcurrentGroupsInfo {
  bool active = false;
  int queues = 1;
  std::string why;  ///< which groups go one after the other and for what reason
};

struct ModeInfo {
  std::string mode;
  std::optional<TimeSummary> step_seconds;
  std::optional<double> first_step_seconds;
  std::map<std::string, double> phases_seconds;  ///< empty under timing step
  std::optional<OverlapInfo> overlap;
  ThroughputInfo throughput;
  std::optional<double> speedup_vs_duplicated, ns_cost_max_over_mean, state_max_over_mean;
  std::string ns_algorithm;  ///< what was asked for
  std::vector<RankInfo> ranks;
  ParityInfo parity;
  std::optional<std::int64_t> nonfinite_values, ns_whole;
  std::optional<std::map<std::string, std::int64_t>> ns_algorithms;  ///< matrices by what ran
  std::vector<ParamInfo> params;
  ConcurrentGroupsInfo concurrent_groups;
  std::vector<OwnerInfo> owners;                       ///< empty where the mode has none
  std::vector<HomeInfo> homes;                         ///< empty where they are the result's
  std::optional<std::vector<DecisionInfo>> decisions;  ///< where each weight is decided on
};

struct Result {
  bool complete = false;
  std::string status = "ok";  ///< ok, interrupted, failed
  std::string config_json;    ///< the resolved configuration
  std::vector<std::string> argv;
  std::optional<EnvironmentInfo> environment;  ///< none for a plan: nothing ran
  ModelInfo model;
  std::vector<HomeInfo> homes;
  std::vector<ModeInfo> modes;
};

}  // namespace muonbench
