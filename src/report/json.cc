// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <string_view>

#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/report/phase_order.h"
#include "src/report/report.h"

namespace muonbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kVersionsInOrder = {"mpi",    "nccl", "cuda",
                                                              "cublas", "blas", "compiler"};

double finite(double value, const std::string& field) {
  if (!std::isfinite(value))
    throw RuntimeFailure(text("result field '{}': expected a finite number, got {}", field, value));
  return value;
}

Json number(const std::optional<double>& value, const std::string& field) {
  return value ? Json(finite(*value, field)) : Json();
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json or_null(const std::string& value) { return value.empty() ? Json() : Json(value); }

Json versions_json(std::map<std::string, std::optional<std::string>> versions) {
  for (const std::string_view name : kVersionsInOrder) versions.try_emplace(std::string(name));
  Json out = Json::object();
  for (const auto& [name, version] : in_order(versions, kVersionsInOrder)) out[name] = or_null(version);
  return out;
}

Json device_json(const DeviceInfo& device) {
  return {{"rank", device.rank},
          {"host", or_null(device.host)},
          {"local_rank", device.local_rank},
          {"name", or_null(device.name)},
          {"memory_bytes", device.memory_bytes},
          {"pci", or_null(device.pci)}};
}

Json environment_json(const EnvironmentInfo& environment) {
  Json devices = Json::array();
  for (const DeviceInfo& device : environment.devices) devices.push_back(device_json(device));
  return {{"muonbench",
           {{"version", or_null(environment.version)},
            {"git_sha", or_null(environment.git_sha)},
            {"git_dirty", environment.git_dirty}}},
          {"time", or_null(environment.time)},
          {"hosts", environment.hosts},
          {"ranks_per_host", environment.ranks_per_host},
          {"cores", environment.cores},
          {"oversubscribed", environment.oversubscribed},
          {"blas_threads", environment.blas_threads},
          {"devices", std::move(devices)},
          {"versions", versions_json(environment.versions)}};
}

Json model_json(const ModelInfo& model) {
  return {{"parameters", model.parameters},
          {"muon_parameters", model.muon_parameters},
          {"adam_parameters", model.adam_parameters},
          {"muon_matrices", model.muon_matrices},
          {"ns_flops", model.ns_flops}};
}

Json times_json(const std::optional<TimeSummary>& times, const std::string& field) {
  if (!times) return nullptr;
  Json samples = Json::array();
  for (const double sample : times->samples) samples.push_back(finite(sample, field + ".samples"));
  return {{"min", finite(times->min, field + ".min")},    {"p50", finite(times->p50, field + ".p50")},
          {"p95", finite(times->p95, field + ".p95")},    {"max", finite(times->max, field + ".max")},
          {"mean", finite(times->mean, field + ".mean")}, {"samples", std::move(samples)}};
}

Json memory_json(const MemoryInfo& memory) {
  return {{"weights_bytes", memory.weights_bytes},
          {"master_bytes", memory.master_bytes},
          {"momentum_bytes", memory.momentum_bytes},
          {"adam_bytes", memory.adam_bytes},
          {"pad_bytes", memory.pad_bytes},
          {"gradient_bytes", memory.gradient_bytes},
          {"exchange_bytes", memory.exchange_bytes},
          {"ns_scratch_bytes", memory.ns_scratch_bytes},
          {"state_bytes", memory.state_bytes},
          {"peak_bytes", memory.peak_bytes},
          {"process_peak_bytes", or_null(memory.process_peak_bytes)}};
}

Json rank_json(const RankInfo& rank, const std::string& field) {
  return {{"rank", rank.rank},
          {"host", or_null(rank.host)},
          {"g", rank.g},
          {"t", rank.t},
          {"memory", memory_json(rank.memory)},
          {"ns_calls", rank.ns_calls},
          {"ns_flops", rank.ns_flops},
          {"collectives", rank.collectives},
          {"sent_bytes", rank.sent_bytes},
          {"received_bytes", rank.received_bytes},
          {"step_seconds_p50", number(rank.step_seconds_p50, field + ".step_seconds_p50")}};
}

/// How to show a figure taken from the weights themselves.
enum class WeightsMay { kBeFiniteOnly, kBeNonfinite };

Json weight_figure(const std::optional<double>& value, WeightsMay weights_may, const std::string& field) {
  if (value && !std::isfinite(*value) && weights_may == WeightsMay::kBeNonfinite) return nullptr;
  return number(value, field);
}

Json parity_json(const ParityInfo& parity, WeightsMay weights_may, const std::string& field) {
  return {{"reference_mode", or_null(parity.reference_mode)},
          {"bit_identical", or_null(parity.bit_identical)},
          {"max_abs_diff", weight_figure(parity.max_abs_diff, weights_may, field + ".max_abs_diff")},
          {"why", or_null(parity.why)}};
}

Json param_json(const ParamInfo& param, WeightsMay weights_may, const std::string& field) {
  const Json home = param.home ? Json{{"g", param.home->g}, {"t", or_null(param.home->t)}} : Json();
  return {{"name", param.name},
          {"shape", param.shape},
          {"sharding", or_null(param.sharding)},
          {"home", home},
          {"delta_abs_min", weight_figure(param.delta_abs_min, weights_may, field + ".delta_abs_min")},
          {"delta_abs_max", weight_figure(param.delta_abs_max, weights_may, field + ".delta_abs_max")},
          {"digest", or_null(param.digest)}};
}

Json throughput_json(const ThroughputInfo& throughput, const std::string& field) {
  return {
      {"ns_tflops", number(throughput.ns_tflops, field + ".ns_tflops")},
      {"parameters_per_second", number(throughput.parameters_per_second, field + ".parameters_per_second")},
      {"exchange_algbw_gbs", number(throughput.exchange_algbw_gbs, field + ".exchange_algbw_gbs")},
      {"exchange_busbw_gbs", number(throughput.exchange_busbw_gbs, field + ".exchange_busbw_gbs")}};
}

Json phases_json(const std::map<std::string, double>& phases, const std::string& field) {
  if (phases.empty()) return nullptr;
  Json out = Json::object();
  for (const auto& [phase, seconds] : in_order(phases, kPhasesInOrder))
    out[phase] = finite(seconds, text("{}.{}", field, phase));
  return out;
}

Json concurrent_groups_json(const ConcurrentGroupsInfo& groups) {
  return {{"active", groups.active}, {"queues", groups.queues}, {"why", or_null(groups.why)}};
}

Json homes_json(const std::vector<HomeInfo>& homes) {
  Json list = Json::array();
  for (const HomeInfo& home : homes)
    list.push_back({{"param", home.param}, {"g", home.g}, {"t", or_null(home.t)}});
  return list;
}

Json owners_json(const std::vector<OwnerInfo>& owners) {
  Json list = Json::array();
  for (const OwnerInfo& owner : owners) list.push_back({{"param", owner.param}, {"dp", owner.dp}});
  return list;
}

Json decisions_json(const std::optional<std::vector<DecisionInfo>>& decisions) {
  if (!decisions) return nullptr;
  Json out = Json::array();
  for (const DecisionInfo& one : *decisions)
    out.push_back({{"param", one.param},
                   {"runs", one.runs},
                   {"over", or_null(one.over)},
                   {"ranks", or_null(one.ranks)}});
  return out;
}

Json overlap_json(const std::optional<OverlapInfo>& overlap, const std::string& field) {
  if (!overlap) return nullptr;
  return {{"serial_seconds", number(overlap->serial_seconds, field + ".serial_seconds")},
          {"overlapped_seconds", number(overlap->overlapped_seconds, field + ".overlapped_seconds")},
          {"efficiency", number(overlap->efficiency, field + ".efficiency")}};
}

Json mode_json(const ModeInfo& mode, WeightsMay weights_may) {
  const std::string field = text("modes[{}]", mode.mode);
  const auto of = [&field](std::string_view key) { return text("{}.{}", field, key); };
  Json ranks = Json::array();
  for (const RankInfo& rank : mode.ranks)
    ranks.push_back(rank_json(rank, text("{}.ranks[{}]", field, rank.rank)));
  Json params = Json::array();
  for (const ParamInfo& param : mode.params)
    params.push_back(param_json(param, weights_may, text("{}.params[{}]", field, param.name)));
  return {{"mode", mode.mode},
          {"step_seconds", times_json(mode.step_seconds, of("step_seconds"))},
          {"first_step_seconds", number(mode.first_step_seconds, of("first_step_seconds"))},
          {"phases_seconds", phases_json(mode.phases_seconds, of("phases_seconds"))},
          {"throughput", throughput_json(mode.throughput, of("throughput"))},
          {"speedup_vs_duplicated", number(mode.speedup_vs_duplicated, of("speedup_vs_duplicated"))},
          {"ns_cost_max_over_mean", number(mode.ns_cost_max_over_mean, of("ns_cost_max_over_mean"))},
          {"state_max_over_mean", number(mode.state_max_over_mean, of("state_max_over_mean"))},
          {"ranks", std::move(ranks)},
          {"parity", parity_json(mode.parity, weights_may, of("parity"))},
          {"nonfinite_values", or_null(mode.nonfinite_values)},
          {"params", std::move(params)},
          {"ns_algorithm", or_null(mode.ns_algorithm)},
          {"concurrent_groups", concurrent_groups_json(mode.concurrent_groups)},
          {"owners", mode.owners.empty() ? Json() : owners_json(mode.owners)},
          {"homes", mode.homes.empty() ? Json() : homes_json(mode.homes)},
          {"decisions", decisions_json(mode.decisions)},
          {"overlap", overlap_json(mode.overlap, of("overlap"))},
          {"ns_whole", or_null(mode.ns_whole)},
          {"ns_algorithms", or_null(mode.ns_algorithms)}};
}

Json config_json(const std::string& resolved) {
  if (resolved.empty()) return nullptr;
  Json config = Json::parse(resolved, nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded())
    throw RuntimeFailure(text("result field 'config': expected JSON, got {}", resolved));
  return config;
}

/// A difference between two modes is not a number as soon as one of them is not.
WeightsMay weights_of(const Result& result) {
  for (const ModeInfo& mode : result.modes)
    if (mode.nonfinite_values.value_or(0) > 0) return WeightsMay::kBeNonfinite;
  return WeightsMay::kBeFiniteOnly;
}

}  // namespace

std::string to_json(const Result& result) {
  Json modes = Json::array();
  for (const ModeInfo& mode : result.modes) modes.push_back(mode_json(mode, weights_of(result)));
  const Json document = {{"schema_version", kResultSchemaVersion},
                         {"complete", result.complete},
                         {"status", result.status},
                         {"config", config_json(result.config_json)},
                         {"argv", result.argv},
                         {"environment", result.environment ? environment_json(*result.environment) : Json()},
                         {"model", model_json(result.model)},
                         {"homes", homes_json(result.homes)},
                         {"modes", std::move(modes)}};
  // Host names and arguments are bytes of the system; a byte that is not UTF-8 must not cost the whole
  // result.
  return document.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muonbench
