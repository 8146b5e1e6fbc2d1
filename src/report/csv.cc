// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <string_view>

#include "src/base/text.h"
#include "src/report/report.h"
#include "src/report/run_facts.h"

namespace muonbench {
namespace {

struct Row {
  const Result& result;
  const RunFacts& facts;
  const ModeInfo& mode;
  const RankInfo& rank;
};

/// fmt writes the shortest digits that read back to the same double, with a point in any locale.
template <class T>
std::string cell(const T& value) {
  return text("{}", value);
}

/// What is no number is unknown: an empty cell.
std::string cell(double value) { return std::isfinite(value) ? text("{}", value) : std::string(); }

template <class T>
std::string cell(const std::optional<T>& value) {
  return value ? cell(*value) : std::string();
}

std::string time_cell(const Row& row, double TimeSummary::*figure) {
  return row.mode.step_seconds ? cell((*row.mode.step_seconds).*figure) : std::string();
}

std::string samples_cell(const Row& row) {
  return row.mode.step_seconds ? cell(row.mode.step_seconds->samples.size()) : std::string();
}

struct Column {
  std::string_view name;
  std::string (*cell)(const Row&);
};

// THE list of columns; new ones go to the end, since people read by position too.
constexpr std::array kColumns = std::to_array<Column>({
    {"schema_version", [](const Row&) { return cell(kResultSchemaVersion); }},
    {"name", [](const Row& r) { return r.facts.name; }},
    {"complete", [](const Row& r) { return cell(r.result.complete); }},
    {"status", [](const Row& r) { return r.result.status; }},
    {"time", [](const Row& r) { return r.result.environment ? r.result.environment->time : std::string(); }},
    {"backend", [](const Row& r) { return r.facts.backend; }},
    {"param_dtype", [](const Row& r) { return r.facts.param_dtype; }},
    {"tp", [](const Row& r) { return cell(r.facts.tp); }},
    {"gtp_remat", [](const Row& r) { return cell(r.facts.gtp_remat); }},
    {"ranks", [](const Row& r) { return cell(r.mode.ranks.size()); }},
    {"oversubscribed",
     [](const Row& r) {
       return r.result.environment ? cell(r.result.environment->oversubscribed) : std::string();
     }},
    {"mode", [](const Row& r) { return r.mode.mode; }},
    {"rank", [](const Row& r) { return cell(r.rank.rank); }},
    {"host", [](const Row& r) { return r.rank.host; }},
    {"g", [](const Row& r) { return cell(r.rank.g); }},
    {"t", [](const Row& r) { return cell(r.rank.t); }},
    {"weights_bytes", [](const Row& r) { return cell(r.rank.memory.weights_bytes); }},
    {"master_bytes", [](const Row& r) { return cell(r.rank.memory.master_bytes); }},
    {"momentum_bytes", [](const Row& r) { return cell(r.rank.memory.momentum_bytes); }},
    {"adam_bytes", [](const Row& r) { return cell(r.rank.memory.adam_bytes); }},
    {"pad_bytes", [](const Row& r) { return cell(r.rank.memory.pad_bytes); }},
    {"gradient_bytes", [](const Row& r) { return cell(r.rank.memory.gradient_bytes); }},
    {"exchange_bytes", [](const Row& r) { return cell(r.rank.memory.exchange_bytes); }},
    {"ns_scratch_bytes", [](const Row& r) { return cell(r.rank.memory.ns_scratch_bytes); }},
    {"state_bytes", [](const Row& r) { return cell(r.rank.memory.state_bytes); }},
    {"peak_bytes", [](const Row& r) { return cell(r.rank.memory.peak_bytes); }},
    {"process_peak_bytes", [](const Row& r) { return cell(r.rank.memory.process_peak_bytes); }},
    {"ns_calls", [](const Row& r) { return cell(r.rank.ns_calls); }},
    {"ns_flops", [](const Row& r) { return cell(r.rank.ns_flops); }},
    {"collectives", [](const Row& r) { return cell(r.rank.collectives); }},
    {"sent_bytes", [](const Row& r) { return cell(r.rank.sent_bytes); }},
    {"received_bytes", [](const Row& r) { return cell(r.rank.received_bytes); }},
    {"rank_step_seconds_p50", [](const Row& r) { return cell(r.rank.step_seconds_p50); }},
    {"step_seconds_min", [](const Row& r) { return time_cell(r, &TimeSummary::min); }},
    {"step_seconds_p50", [](const Row& r) { return time_cell(r, &TimeSummary::p50); }},
    {"step_seconds_p95", [](const Row& r) { return time_cell(r, &TimeSummary::p95); }},
    {"step_seconds_max", [](const Row& r) { return time_cell(r, &TimeSummary::max); }},
    {"step_seconds_mean", [](const Row& r) { return time_cell(r, &TimeSummary::mean); }},
    {"step_samples", [](const Row& r) { return samples_cell(r); }},
    {"first_step_seconds", [](const Row& r) { return cell(r.mode.first_step_seconds); }},
    {"ns_tflops", [](const Row& r) { return cell(r.mode.throughput.ns_tflops); }},
    {"parameters_per_second", [](const Row& r) { return cell(r.mode.throughput.parameters_per_second); }},
    {"exchange_algbw_gbs", [](const Row& r) { return cell(r.mode.throughput.exchange_algbw_gbs); }},
    {"exchange_busbw_gbs", [](const Row& r) { return cell(r.mode.throughput.exchange_busbw_gbs); }},
    {"speedup_vs_duplicated", [](const Row& r) { return cell(r.mode.speedup_vs_duplicated); }},
    {"ns_cost_max_over_mean", [](const Row& r) { return cell(r.mode.ns_cost_max_over_mean); }},
    {"state_max_over_mean", [](const Row& r) { return cell(r.mode.state_max_over_mean); }},
    {"bit_identical", [](const Row& r) { return cell(r.mode.parity.bit_identical); }},
    {"max_abs_diff", [](const Row& r) { return cell(r.mode.parity.max_abs_diff); }},
    {"nonfinite_values", [](const Row& r) { return cell(r.mode.nonfinite_values); }},
});

std::string quoted_if_needed(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string line_of(const std::vector<std::string>& cells) { return join(cells, ",") + "\r\n"; }

}  // namespace

std::string to_csv(const Result& result) {
  const RunFacts facts = run_facts(result.config_json);
  std::vector<std::string> cells;
  cells.reserve(kColumns.size());
  for (const Column& column : kColumns) cells.emplace_back(column.name);
  std::string out = line_of(cells);
  for (const ModeInfo& mode : result.modes) {
    for (const RankInfo& rank : mode.ranks) {
      const Row row{result, facts, mode, rank};
      cells.clear();
      for (const Column& column : kColumns) cells.push_back(quoted_if_needed(column.cell(row)));
      out += line_of(cells);
    }
  }
  return out;
}

}  // namespace muonbench
