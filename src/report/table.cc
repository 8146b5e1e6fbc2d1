// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "src/base/stable_order.h"
#include "src/base/text.h"
#include "src/report/columns.h"
#include "src/report/phase_order.h"
#include "src/report/report.h"
#include "src/report/run_facts.h"

namespace muonbench {
namespace {

using Cells = std::vector<std::string>;

/// A screenful. Of a larger domain the ends are shown: who runs out of memory first, and how uneven it is.
constexpr std::size_t kMostRanksShown = 16;
constexpr std::size_t kHeaviestShown = 8;
constexpr std::size_t kLightestShown = 4;

/// The rank with the largest `figure`, the first of equals; none without ranks.
template <class Figure>
const RankInfo* heaviest(const ModeInfo& mode, Figure figure) {
  const auto less = [&figure](const RankInfo& a, const RankInfo& b) { return figure(a) < figure(b); };
  const auto found = std::max_element(mode.ranks.begin(), mode.ranks.end(), less);
  return found == mode.ranks.end() ? nullptr : &*found;
}

template <class Figure>
std::optional<std::int64_t> largest(const ModeInfo& mode, Figure figure) {
  const RankInfo* const rank = heaviest(mode, figure);
  if (rank == nullptr) return std::nullopt;
  return figure(*rank);
}

std::string count_cell(std::optional<std::int64_t> count) { return count ? text("{}", *count) : "-"; }

std::string parity_cell(const ParityInfo& parity) {
  if (parity.bit_identical.value_or(false)) return "bit-identical";
  if (parity.max_abs_diff) return text("max diff {:.1e}", *parity.max_abs_diff);
  return parity.bit_identical ? "differs" : "-";
}

std::int64_t state_bytes(const RankInfo& rank) { return rank.memory.state_bytes; }
std::int64_t peak_bytes(const RankInfo& rank) { return rank.memory.peak_bytes; }

Cells mode_row(const ModeInfo& mode) {
  const RankInfo* const fullest = heaviest(mode, state_bytes);
  const auto p50 = mode.step_seconds ? std::optional<double>(mode.step_seconds->p50) : std::nullopt;
  return {mode.mode,
          in_ms(p50),
          short_number(mode.speedup_vs_duplicated),
          count_cell(largest(mode, [](const RankInfo& r) { return r.ns_calls; })),
          in_gflop(largest(mode, [](const RankInfo& r) { return r.ns_flops; })),
          short_number(mode.throughput.ns_tflops),
          in_mib(largest(mode, [](const RankInfo& r) { return r.sent_bytes; })),
          count_cell(largest(mode, [](const RankInfo& r) { return r.collectives; })),
          in_mib(largest(mode, state_bytes)),
          fullest == nullptr ? "-" : text("{}", fullest->rank),
          in_mib(largest(mode, peak_bytes)),
          parity_cell(mode.parity)};
}

std::string mode_summary(const Result& result) {
  const std::vector<ColumnHead> heads = {{"mode", "", Align::kLeft}, {"step_p50", "(ms)"},
                                         {"speedup", "(x)"},         {"ns_calls", "(max)"},
                                         {"ns", "(GFLOP)"},          {"ns_rate", "(TFLOP/s)"},
                                         {"sent", "(MiB)"},          {"coll", ""},
                                         {"state", "(MiB)"},         {"rank", ""},
                                         {"peak", "(MiB)"},          {"parity", "", Align::kLeft}};
  std::vector<Cells> rows;
  for (const ModeInfo& mode : result.modes) rows.push_back(mode_row(mode));
  return in_columns(heads, rows) +
         "ns_calls, ns, sent, coll, state, peak: of the rank with the most, per step; rank: the first with "
         "that state\n"
         "speedup: over duplicated; ns_rate: of all ranks\n";
}

Cells rank_row(const RankInfo& rank) {
  const MemoryInfo& memory = rank.memory;
  return {text("{}", rank.rank),
          text("{}", rank.g),
          text("{}", rank.t),
          in_mib(memory.weights_bytes),
          in_mib(memory.master_bytes),
          in_mib(memory.momentum_bytes),
          in_mib(memory.adam_bytes),
          in_mib(memory.exchange_bytes),
          in_mib(memory.ns_scratch_bytes),
          in_mib(memory.peak_bytes),
          in_ms(rank.step_seconds_p50),
          in_mib(rank.sent_bytes),
          text("{}", rank.ns_calls),
          in_gflop(rank.ns_flops)};
}

/// Indices of `ranks` by peak, fullest first, equal ones by rank.
std::vector<std::size_t> by_peak(const std::vector<RankInfo>& ranks) {
  return stable_order(ranks.size(), [&ranks](std::size_t a, std::size_t b) {
    return peak_bytes(ranks[a]) > peak_bytes(ranks[b]);
  });
}

std::string rank_table(const ModeInfo& mode) {
  const std::vector<ColumnHead> heads = {{"rank", ""},
                                         {"g", ""},
                                         {"t", ""},
                                         {"weights", "(MiB)"},
                                         {"master", "(MiB)"},
                                         {"momentum", "(MiB)"},
                                         {"adam", "(MiB)"},
                                         {"exchange", "(MiB)"},
                                         {"ns_scratch", "(MiB)"},
                                         {"peak", "(MiB)"},
                                         {"step_p50", "(ms)"},
                                         {"sent", "(MiB)"},
                                         {"ns_calls", ""},
                                         {"ns", "(GFLOP)"}};
  std::vector<Cells> rows;
  if (mode.ranks.size() <= kMostRanksShown) {
    for (const RankInfo& rank : mode.ranks) rows.push_back(rank_row(rank));
    return text("{}\n", mode.mode) + in_columns(heads, rows);
  }
  const std::vector<std::size_t> order = by_peak(mode.ranks);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i < kHeaviestShown || i + kLightestShown >= order.size())
      rows.push_back(rank_row(mode.ranks[order[i]]));
  return text("{}: the {} ranks with the highest peak, then the {} with the lowest; {} of {} left out\n",
              mode.mode, kHeaviestShown, kLightestShown, order.size() - rows.size(), order.size()) +
         in_columns(heads, rows);
}

/// A row per phase, a column per mode that was timed by phases; empty if none was.
std::string phase_table(const Result& result) {
  std::vector<ColumnHead> heads = {{"phase", "", Align::kLeft}};
  std::map<std::string, Cells> cells;
  for (const ModeInfo& mode : result.modes) {
    if (mode.phases_seconds.empty()) continue;
    for (const auto& [phase, seconds] : mode.phases_seconds) {
      Cells& row = cells[phase];
      row.resize(heads.size() - 1, "-");
      row.push_back(in_ms(seconds));
    }
    heads.push_back({mode.mode, "(ms)"});
  }
  if (heads.size() == 1) return {};
  std::vector<Cells> rows;
  for (auto& [phase, row] : in_order(cells, kPhasesInOrder)) {
    row.resize(heads.size() - 1, "-");
    row.insert(row.begin(), phase);
    rows.push_back(std::move(row));
  }
  return "\n" + in_columns(heads, rows);
}

std::string warnings(const Result& result) {
  std::string out;
  if (!result.complete) out += text("INCOMPLETE: status {}\n", result.status);
  if (result.environment && result.environment->oversubscribed)
    out += text(
        "warning: oversubscribed: more ranks x BLAS threads ({} each) than cores ({} on the smallest host): "
        "times include waiting for a core\n",
        result.environment->blas_threads, result.environment->cores);
  for (const ModeInfo& mode : result.modes)
    if (mode.nonfinite_values.value_or(0) > 0)
      out += text("warning: {}: {} non-finite values\n", mode.mode, *mode.nonfinite_values);
  return out;
}

std::string header(const Result& result, const RunFacts& facts) {
  const std::size_t ranks = result.modes.empty() ? 0 : result.modes.front().ranks.size();
  const ModelInfo& model = result.model;
  return text("muonbench {}: {} rank{}, gtp_remat {} x tp {}, backend {} over {}, {} weights\n", facts.name,
              ranks, ranks == 1 ? "" : "s", count_cell(facts.gtp_remat), count_cell(facts.tp), facts.backend,
              facts.transport, facts.param_dtype) +
         text("model: {} parameters, {} for Muon in {} {}, {} for Adam; NS {} GFLOP per step\n",
              model.parameters, model.muon_parameters, model.muon_matrices,
              model.muon_matrices == 1 ? "matrix" : "matrices", model.adam_parameters,
              in_gflop(model.ns_flops));
}

}  // namespace

std::string to_table(const Result& result) {
  std::string out = header(result, run_facts(result.config_json)) + warnings(result) + "\n" +
                    mode_summary(result) + phase_table(result);
  for (const ModeInfo& mode : result.modes) out += "\n" + rank_table(mode);
  return out;
}

}  // namespace muonbench
