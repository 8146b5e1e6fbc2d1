// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/report/trace.h"

namespace muonbench {
namespace {

using Json = nlohmann::json;

/// Two ranks, one step of which rank 1 has two queues. Binary fractions for times.
Trace sample_trace() {
  Trace trace;
  trace.version = "1.2.3";
  trace.argv = {"muonbench", "run"};
  trace.ranks = {{0, "h0", 0, 0}, {1, "h1", 0, 1}};
  trace.steps = {
      {0, "layer_sharded", 2, 0.5, 0.25, {{"momentum", 0, 0.0, 0.125, 0.125, 3, 0, 0, 0}}},
      {1,
       "layer_sharded",
       2,
       0.5,
       0.5,
       {{"stage1_forward", 0, 0.0, 0.125, 0.25, 2, 1, 64, 32}, {"ns", 1, 0.125, 0.375, 0.375, 1, 0, 0, 0}}}};
  return trace;
}

std::vector<Json> events(const Json& document, const std::string& phase) {
  std::vector<Json> found;
  for (const Json& event : document["traceEvents"])
    if (event["ph"] == phase) found.push_back(event);
  return found;
}

TEST(Trace, NamesAProcessForEachRankAndAThreadForEachQueue) {
  std::set<std::string> names;
  for (const Json& event : events(Json::parse(to_trace_json(sample_trace())), "M"))
    if (event["name"] != "process_sort_index")
      names.insert(event["pid"].dump() + "." + event["tid"].dump() + " " +
                   event["args"]["name"].get<std::string>());
  EXPECT_EQ(names, (std::set<std::string>{"0.0 rank 0 (g=0, t=0) on h0", "0.0 queue 0",
                                          "1.0 rank 1 (g=0, t=1) on h1", "1.0 queue 0", "1.1 queue 1"}));
}

TEST(Trace, HasOneCompleteEventPerStepAndSpanInMicroseconds) {
  const std::vector<Json> found = events(Json::parse(to_trace_json(sample_trace())), "X");
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[2], Json::parse(R"({"name": "step 2", "cat": "step", "ph": "X", "ts": 500000.0,
      "dur": 500000.0, "pid": 1, "tid": 0, "args": {"mode": "layer_sharded", "step": 2}})"));
  EXPECT_EQ(found[3], Json::parse(R"({"name": "stage1_forward", "cat": "phase", "ph": "X", "ts": 500000.0,
      "dur": 125000.0, "pid": 1, "tid": 0, "args": {"mode": "layer_sharded", "step": 2, "ops": 2,
      "collectives": 1, "sent_bytes": 64, "received_bytes": 32, "in_flight_until_us": 750000.0}})"));
  EXPECT_EQ(found[4], Json::parse(R"({"name": "ns", "cat": "phase", "ph": "X", "ts": 625000.0,
      "dur": 250000.0, "pid": 1, "tid": 1, "args": {"mode": "layer_sharded", "step": 2, "ops": 1}})"));
}

TEST(Trace, SaysThatTracingWasOnHowRanksAreAlignedAndByHowMuchTheyMayBeOut) {
  Trace trace = sample_trace();
  Json facts = Json::parse(to_trace_json(trace))["otherData"];
  EXPECT_TRUE(facts["tracing"].get<std::string>().starts_with("on"));
  EXPECT_NE(facts["alignment"].get<std::string>().find("barrier"), std::string::npos);
  EXPECT_TRUE(facts["largest_start_skew_seconds"].is_null());
  EXPECT_EQ(facts["argv"], Json({"muonbench", "run"}));
  trace.largest_start_skew_seconds = 0.125;
  EXPECT_EQ(Json::parse(to_trace_json(trace))["otherData"]["largest_start_skew_seconds"], 0.125);
}

TEST(Trace, SpansThatTouchStillDoAfterRounding) {
  Trace trace = sample_trace();
  const double third = 1.0 / 3.0;
  trace.steps[1].begin_seconds = third;
  trace.steps[1].spans[0].end_seconds = trace.steps[1].spans[0].complete_seconds = 0.1 * third;
  trace.steps[1].spans[1].begin_seconds = 0.1 * third;
  const std::vector<Json> found = events(Json::parse(to_trace_json(trace)), "X");
  const double end = found[3]["ts"].get<double>() + found[3]["dur"].get<double>();
  // Sums of numbers with three decimals around 4e5, in fp64.
  EXPECT_NEAR(end, found[4]["ts"].get<double>(), 1e-9);
}

TEST(Trace, OfNoStepIsADocumentAllTheSame) {
  const Json document = Json::parse(to_trace_json(Trace{}));
  EXPECT_TRUE(document["traceEvents"].is_array());
  EXPECT_TRUE(document["traceEvents"].empty());
}

TEST(Trace, RefusesATimeThatIsNotFiniteAndNamesTheSpan) {
  Trace trace = sample_trace();
  trace.steps[1].spans[1].end_seconds = std::numeric_limits<double>::quiet_NaN();
  try {
    static_cast<void>(to_trace_json(trace));
    FAIL() << "no failure";
  } catch (const RuntimeFailure& failure) {
    const std::string message = failure.what();
    EXPECT_NE(message.find("rank 1, mode layer_sharded, step 2, ns"), std::string::npos) << message;
  }
}

TEST(Trace, StaysValidWhenAHostsNameIsNotUtf8) {
  Trace trace = sample_trace();
  trace.ranks[0].host = "caf\xe9";
  EXPECT_TRUE(Json::accept(to_trace_json(trace)));
}

}  // namespace
}  // namespace muonbench
