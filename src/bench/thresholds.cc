// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/thresholds.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

using Value = std::optional<double>;

struct Field {
  std::string_view name;
  Value (*of)(const ModeInfo&);
};

template <class T>
Value heaviest(const ModeInfo& mode, T (*of)(const RankInfo&)) {
  Value most;
  for (const RankInfo& rank : mode.ranks) most = std::max(most.value_or(0.0), static_cast<double>(of(rank)));
  return most;
}

template <std::int64_t MemoryInfo::*Member>
Value heaviest_memory(const ModeInfo& mode) {
  return heaviest<std::int64_t>(mode, [](const RankInfo& rank) { return rank.memory.*Member; });
}

template <std::int64_t RankInfo::*Member>
Value heaviest_rank(const ModeInfo& mode) {
  return heaviest<std::int64_t>(mode, [](const RankInfo& rank) { return rank.*Member; });
}

template <double TimeSummary::*Member>
Value of_step(const ModeInfo& mode) {
  return mode.step_seconds ? Value((*mode.step_seconds).*Member) : std::nullopt;
}

const std::vector<Field>& fields() {
  static const std::vector<Field> table = {
      {"step_seconds.min", of_step<&TimeSummary::min>},
      {"step_seconds.p50", of_step<&TimeSummary::p50>},
      {"step_seconds.p95", of_step<&TimeSummary::p95>},
      {"step_seconds.max", of_step<&TimeSummary::max>},
      {"step_seconds.mean", of_step<&TimeSummary::mean>},
      {"first_step_seconds", [](const ModeInfo& m) { return m.first_step_seconds; }},
      {"throughput.ns_tflops", [](const ModeInfo& m) { return m.throughput.ns_tflops; }},
      {"throughput.parameters_per_second",
       [](const ModeInfo& m) { return m.throughput.parameters_per_second; }},
      {"throughput.exchange_algbw_gbs", [](const ModeInfo& m) { return m.throughput.exchange_algbw_gbs; }},
      {"throughput.exchange_busbw_gbs", [](const ModeInfo& m) { return m.throughput.exchange_busbw_gbs; }},
      {"speedup_vs_duplicated", [](const ModeInfo& m) { return m.speedup_vs_duplicated; }},
      {"ns_cost_max_over_mean", [](const ModeInfo& m) { return m.ns_cost_max_over_mean; }},
      {"state_max_over_mean", [](const ModeInfo& m) { return m.state_max_over_mean; }},
      {"parity.max_abs_diff", [](const ModeInfo& m) { return m.parity.max_abs_diff; }},
      {"ranks.memory.state_bytes", heaviest_memory<&MemoryInfo::state_bytes>},
      {"ranks.memory.exchange_bytes", heaviest_memory<&MemoryInfo::exchange_bytes>},
      {"ranks.memory.ns_scratch_bytes", heaviest_memory<&MemoryInfo::ns_scratch_bytes>},
      {"ranks.memory.peak_bytes", heaviest_memory<&MemoryInfo::peak_bytes>},
      {"ranks.ns_calls", heaviest_rank<&RankInfo::ns_calls>},
      {"ranks.ns_flops", heaviest_rank<&RankInfo::ns_flops>},
      {"ranks.collectives", heaviest_rank<&RankInfo::collectives>},
      {"ranks.sent_bytes", heaviest_rank<&RankInfo::sent_bytes>},
      {"ranks.received_bytes", heaviest_rank<&RankInfo::received_bytes>},
  };
  return table;
}

/// A key of `require`, cut at its first dot.
struct Target {
  std::string mode, field;
};

Target target_of(const std::string& key) {
  const std::size_t dot = key.find('.');
  return {key.substr(0, dot), dot == std::string::npos ? std::string() : key.substr(dot + 1)};
}

const Field* field_named(const std::string& name) {
  const auto found =
      std::find_if(fields().begin(), fields().end(), [&](const Field& f) { return f.name == name; });
  return found == fields().end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> bounded_fields() {
  std::vector<std::string> names;
  names.reserve(fields().size());
  for (const Field& field : fields()) names.emplace_back(field.name);
  return names;
}

void refuse_unknown_fields(const RunConfig& config) {
  for (const auto& [key, bounds] : config.require) {
    const Target target = target_of(key);
    if (field_named(target.field) != nullptr) continue;
    const std::string nearest = nearest_name(target.field, bounded_fields());
    throw ConfigError(text("require.{}: expected MODE.FIELD with FIELD one of {}, got '{}'{}", key,
                           join(bounded_fields()), target.field,
                           nearest.empty() ? "" : text(", did you mean {}?", nearest)));
  }
}

std::vector<std::string> missed_bounds(const RunConfig& config, const Result& result) {
  std::vector<std::string> missed;
  for (const auto& [key, bounds] : config.require) {
    const Target target = target_of(key);
    const auto mode = std::find_if(result.modes.begin(), result.modes.end(),
                                   [&](const ModeInfo& m) { return m.mode == target.mode; });
    const Field* field = field_named(target.field);
    const Value value = mode != result.modes.end() && field != nullptr ? field->of(*mode) : std::nullopt;
    if (!value)
      missed.push_back(text("require.{}: the run has no such value", key));
    else if (bounds.min && *value < *bounds.min)
      missed.push_back(text("require.{}: expected at least {}, got {}", key, *bounds.min, *value));
    else if (bounds.max && *value > *bounds.max)
      missed.push_back(text("require.{}: expected at most {}, got {}", key, *bounds.max, *value));
  }
  return missed;
}

}  // namespace muonbench
