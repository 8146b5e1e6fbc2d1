// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/report/report.h"

#include <functional>
#include <limits>
#include <string>

#include "tests/unit/report_sample.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/base/error.h"

namespace muonbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A line per value: its path and its JSON text, so that key order, types and nulls all show.
std::string flat(const Json& value, const std::string& path = "") {
  if (!value.is_structured() || value.empty()) return path + " " + value.dump() + "\n";
  std::string out;
  for (const auto& [key, member] : value.items()) out += flat(member, path + "/" + key);
  return out;
}

/// A change here is a change of the schema: it asks for a new schema_version, a line in results/README.md and
/// an entry in the change log.
constexpr const char* kDocument = R"(/schema_version 1
/complete true
/status "ok"
/config/schema_version 1
/config/name "sample, \"quoted\""
/config/parallelism/tp 2
/config/parallelism/gtp_remat 1
/config/run/backend "cpu"
/config/run/transport "mpi"
/config/run/param_dtype "bf16"
/argv/0 "muonbench"
/argv/1 "run"
/environment/muonbench/version "1.2.3"
/environment/muonbench/git_sha "0123abc"
/environment/muonbench/git_dirty false
/environment/time "2026-03-01T12:00:00Z"
/environment/hosts/0 "h0"
/environment/ranks_per_host/h0 2
/environment/cores 2
/environment/oversubscribed false
/environment/blas_threads 1
/environment/devices/0/rank 0
/environment/devices/0/host "h0"
/environment/devices/0/local_rank 0
/environment/devices/0/name "some CPU"
/environment/devices/0/memory_bytes 1024
/environment/devices/0/pci null
/environment/devices/1/rank 1
/environment/devices/1/host "h0"
/environment/devices/1/local_rank 1
/environment/devices/1/name "some CPU"
/environment/devices/1/memory_bytes 1024
/environment/devices/1/pci "0000:1b:00.0"
/environment/versions/mpi "Open MPI 4"
/environment/versions/nccl null
/environment/versions/cuda null
/environment/versions/cublas null
/environment/versions/blas "OpenBLAS 0.3"
/environment/versions/compiler "g++ 12"
/model/parameters 192
/model/muon_parameters 128
/model/adam_parameters 64
/model/muon_matrices 1
/model/ns_flops 4096
/homes/0/param "w"
/homes/0/g 0
/homes/0/t 1
/homes/1/param "v"
/homes/1/g 0
/homes/1/t null
/modes/0/mode "layer_sharded"
/modes/0/step_seconds/min 0.25
/modes/0/step_seconds/p50 0.5
/modes/0/step_seconds/p95 0.75
/modes/0/step_seconds/max 1.0
/modes/0/step_seconds/mean 0.625
/modes/0/step_seconds/samples/0 1.0
/modes/0/step_seconds/samples/1 0.25
/modes/0/first_step_seconds 2.0
/modes/0/phases_seconds/momentum 0.0625
/modes/0/phases_seconds/ns 0.25
/modes/0/phases_seconds/adam 0.125
/modes/0/throughput/ns_tflops 0.5
/modes/0/throughput/parameters_per_second 384.0
/modes/0/throughput/exchange_algbw_gbs 1.5
/modes/0/throughput/exchange_busbw_gbs 0.75
/modes/0/speedup_vs_duplicated 2.5
/modes/0/ns_cost_max_over_mean 2.0
/modes/0/state_max_over_mean 1.25
/modes/0/ranks/0/rank 0
/modes/0/ranks/0/host "h0"
/modes/0/ranks/0/g 0
/modes/0/ranks/0/t 0
/modes/0/ranks/0/memory/weights_bytes 1048576
/modes/0/ranks/0/memory/master_bytes 2097152
/modes/0/ranks/0/memory/momentum_bytes 3145728
/modes/0/ranks/0/memory/adam_bytes 4194304
/modes/0/ranks/0/memory/pad_bytes 5
/modes/0/ranks/0/memory/gradient_bytes 6291456
/modes/0/ranks/0/memory/exchange_bytes 7340032
/modes/0/ranks/0/memory/ns_scratch_bytes 8388608
/modes/0/ranks/0/memory/state_bytes 9437184
/modes/0/ranks/0/memory/peak_bytes 32505856
/modes/0/ranks/0/memory/process_peak_bytes 67108864
/modes/0/ranks/0/ns_calls 0
/modes/0/ranks/0/ns_flops 0
/modes/0/ranks/0/collectives 3
/modes/0/ranks/0/sent_bytes 524288
/modes/0/ranks/0/received_bytes 262144
/modes/0/ranks/0/step_seconds_p50 0.375
/modes/0/ranks/1/rank 1
/modes/0/ranks/1/host "h0"
/modes/0/ranks/1/g 0
/modes/0/ranks/1/t 1
/modes/0/ranks/1/memory/weights_bytes 1048576
/modes/0/ranks/1/memory/master_bytes 2097152
/modes/0/ranks/1/memory/momentum_bytes 3145728
/modes/0/ranks/1/memory/adam_bytes 4194304
/modes/0/ranks/1/memory/pad_bytes 5
/modes/0/ranks/1/memory/gradient_bytes 6291456
/modes/0/ranks/1/memory/exchange_bytes 7340032
/modes/0/ranks/1/memory/ns_scratch_bytes 8388608
/modes/0/ranks/1/memory/state_bytes 10485760
/modes/0/ranks/1/memory/peak_bytes 32505856
/modes/0/ranks/1/memory/process_peak_bytes 67108864
/modes/0/ranks/1/ns_calls 1
/modes/0/ranks/1/ns_flops 4096000000
/modes/0/ranks/1/collectives 3
/modes/0/ranks/1/sent_bytes 524288
/modes/0/ranks/1/received_bytes 262144
/modes/0/ranks/1/step_seconds_p50 0.5
/modes/0/parity/reference_mode "duplicated"
/modes/0/parity/bit_identical true
/modes/0/parity/max_abs_diff 0.0
/modes/0/parity/why null
/modes/0/nonfinite_values 0
/modes/0/params/0/name "w"
/modes/0/params/0/shape/0 8
/modes/0/params/0/shape/1 16
/modes/0/params/0/sharding "tp"
/modes/0/params/0/home/g 0
/modes/0/params/0/home/t 1
/modes/0/params/0/delta_abs_min 0.125
/modes/0/params/0/delta_abs_max 0.25
/modes/0/params/0/digest "00000000000000ff"
/modes/0/ns_algorithm "syrk"
/modes/0/concurrent_groups/active true
/modes/0/concurrent_groups/queues 2
/modes/0/concurrent_groups/why "a and b share the tp communicator"
/modes/0/owners/0/param "w"
/modes/0/owners/0/dp 1
/modes/0/homes/0/param "w"
/modes/0/homes/0/g 1
/modes/0/homes/0/t null
/modes/0/decisions/0/param "w"
/modes/0/decisions/0/runs "distributed"
/modes/0/decisions/0/over "tp"
/modes/0/decisions/0/ranks 2
/modes/0/overlap/serial_seconds 0.75
/modes/0/overlap/overlapped_seconds 0.5
/modes/0/overlap/efficiency 0.25
/modes/0/ns_whole 3
/modes/0/ns_algorithms/gram 2
/modes/0/ns_algorithms/syrk 3
/modes/1/mode "adam_dim0"
/modes/1/step_seconds null
/modes/1/first_step_seconds null
/modes/1/phases_seconds null
/modes/1/throughput/ns_tflops null
/modes/1/throughput/parameters_per_second null
/modes/1/throughput/exchange_algbw_gbs null
/modes/1/throughput/exchange_busbw_gbs null
/modes/1/speedup_vs_duplicated null
/modes/1/ns_cost_max_over_mean null
/modes/1/state_max_over_mean null
/modes/1/ranks/0/rank 0
/modes/1/ranks/0/host null
/modes/1/ranks/0/g 0
/modes/1/ranks/0/t 0
/modes/1/ranks/0/memory/weights_bytes 0
/modes/1/ranks/0/memory/master_bytes 0
/modes/1/ranks/0/memory/momentum_bytes 0
/modes/1/ranks/0/memory/adam_bytes 0
/modes/1/ranks/0/memory/pad_bytes 0
/modes/1/ranks/0/memory/gradient_bytes 0
/modes/1/ranks/0/memory/exchange_bytes 0
/modes/1/ranks/0/memory/ns_scratch_bytes 0
/modes/1/ranks/0/memory/state_bytes 0
/modes/1/ranks/0/memory/peak_bytes 0
/modes/1/ranks/0/memory/process_peak_bytes null
/modes/1/ranks/0/ns_calls 0
/modes/1/ranks/0/ns_flops 0
/modes/1/ranks/0/collectives 0
/modes/1/ranks/0/sent_bytes 0
/modes/1/ranks/0/received_bytes 0
/modes/1/ranks/0/step_seconds_p50 null
/modes/1/parity/reference_mode null
/modes/1/parity/bit_identical null
/modes/1/parity/max_abs_diff null
/modes/1/parity/why "no Newton-Schulz in this mode"
/modes/1/nonfinite_values null
/modes/1/params/0/name "e"
/modes/1/params/0/shape/0 64
/modes/1/params/0/sharding "replicated"
/modes/1/params/0/home null
/modes/1/params/0/delta_abs_min null
/modes/1/params/0/delta_abs_max null
/modes/1/params/0/digest null
/modes/1/ns_algorithm null
/modes/1/concurrent_groups/active false
/modes/1/concurrent_groups/queues 1
/modes/1/concurrent_groups/why null
/modes/1/owners null
/modes/1/homes null
/modes/1/decisions null
/modes/1/overlap null
/modes/1/ns_whole null
/modes/1/ns_algorithms null
)";

TEST(Json, HoldsEveryKeyOfTheSchemaInItsOrderWithItsType) {
  EXPECT_EQ(flat(Json::parse(to_json(sample_result()))), kDocument);
}

TEST(Json, IsOneIndentedDocumentThatEndsInANewline) {
  const std::string json = to_json(sample_result());
  EXPECT_TRUE(json.starts_with("{\n  \"schema_version\": 1,\n"));
  EXPECT_TRUE(json.ends_with("}\n"));
}

TEST(Json, ReadsBackEveryNumberToTheLastBit) {
  Result result = sample_result();
  const double third = 1.0 / 3.0;
  result.modes[0].first_step_seconds = third;
  result.modes[0].ranks[0].ns_flops = std::numeric_limits<std::int64_t>::max();
  const Json mode = Json::parse(to_json(result))["modes"][0];
  EXPECT_EQ(mode["first_step_seconds"].get<double>(), third);
  EXPECT_EQ(mode["ranks"][0]["ns_flops"].get<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
}

TEST(Json, KeepsTheOrderOfTheConfigurationsKeys) {
  Result result = sample_result();
  result.config_json = R"({"z": 1, "a": {"y": null, "b": []}})";
  const std::string json = to_json(result);
  EXPECT_LT(json.find("\"z\""), json.find("\"a\""));
  EXPECT_LT(json.find("\"y\""), json.find("\"b\""));
}

/// Text of the failure that to_json ends with after `spoil`.
std::string failure_after(const std::function<void(Result&)>& spoil) {
  Result result = sample_result();
  spoil(result);
  try {
    (void)to_json(result);
  } catch (const RuntimeFailure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST(Json, RefusesAMeasuredNumberThatIsNotFiniteAndNamesItsField) {
  const auto names = [](const std::function<void(Result&)>& spoil, const std::string& field) {
    EXPECT_NE(failure_after(spoil).find("'" + field + "'"), std::string::npos) << failure_after(spoil);
  };
  names([](Result& r) { r.modes[0].step_seconds->p95 = kNan; }, "modes[layer_sharded].step_seconds.p95");
  names([](Result& r) { r.modes[0].step_seconds->samples[1] = kNan; },
        "modes[layer_sharded].step_seconds.samples");
  names([](Result& r) { r.modes[0].speedup_vs_duplicated = std::numeric_limits<double>::infinity(); },
        "modes[layer_sharded].speedup_vs_duplicated");
  names([](Result& r) { r.modes[0].phases_seconds["ns"] = kNan; }, "modes[layer_sharded].phases_seconds.ns");
  names([](Result& r) { r.modes[0].ranks[1].step_seconds_p50 = kNan; },
        "modes[layer_sharded].ranks[1].step_seconds_p50");
  names([](Result& r) { r.modes[0].throughput.ns_tflops = kNan; },
        "modes[layer_sharded].throughput.ns_tflops");
  names([](Result& r) { r.modes[0].parity.max_abs_diff = kNan; }, "modes[layer_sharded].parity.max_abs_diff");
  names([](Result& r) { r.modes[0].params[0].delta_abs_max = kNan; },
        "modes[layer_sharded].params[w].delta_abs_max");
}

TEST(Json, ShowsDifferencesOfNonfiniteWeightsAsUnknownBesideTheirCount) {
  Result result = sample_result();
  result.modes[0].nonfinite_values = 3;
  result.modes[0].parity.max_abs_diff = kNan;
  result.modes[0].params[0].delta_abs_max = std::numeric_limits<double>::infinity();
  const Json mode = Json::parse(to_json(result))["modes"][0];
  EXPECT_TRUE(mode["parity"]["max_abs_diff"].is_null());
  EXPECT_TRUE(mode["params"][0]["delta_abs_max"].is_null());
  EXPECT_EQ(mode["nonfinite_values"], 3);
}

TEST(Json, RefusesAConfigurationThatIsNoJson) {
  EXPECT_NE(failure_after([](Result& r) { r.config_json = "{"; }).find("'config'"), std::string::npos);
}

TEST(Json, StaysValidWhenAnArgumentIsNotUtf8) {
  Result result = sample_result();
  result.argv = {"--output", "caf\xe9.json", "caf\xc3\xa9"};
  const Json argv = Json::parse(to_json(result))["argv"];
  EXPECT_EQ(argv[1], "caf\xef\xbf\xbd.json");
  EXPECT_EQ(argv[2], "caf\xc3\xa9");
}

TEST(Json, OfAnInterruptedRunSaysSo) {
  Result result;
  result.status = "interrupted";
  const Json json = Json::parse(to_json(result));
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["status"], "interrupted");
  EXPECT_TRUE(json["config"].is_null());
  EXPECT_TRUE(json["environment"].is_null());
  EXPECT_TRUE(json["modes"].is_array());
}

}  // namespace
}  // namespace muonbench
