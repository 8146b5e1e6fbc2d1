// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/report/trace.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTracing =
    "on: each op of a timed step was timed on its queue, so steps may take longer than without --trace";
constexpr const char* kAlignment =
    "each step begins at one time on all ranks, that at which rank 0 left the barrier before it; a rank that "
    "left it later is drawn too early by as much, see largest_start_skew_seconds";

/// Whole nanoseconds, so that what lies within another span still does in the file.
double microseconds(double seconds, const std::string& what) {
  if (!std::isfinite(seconds))
    throw RuntimeFailure(text("trace: {}: expected a finite time, got {}", what, seconds));
  return std::round(seconds * 1e9) / 1e3;
}

/// Host names and arguments are bytes of the system; one that is not UTF-8 must not cost the whole trace.
std::string line(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json complete_event(const std::string& name, const char* category, double begin, double end,
                    const TracedStep& step) {
  const std::string what = text("rank {}, mode {}, step {}, {}", step.rank, step.mode, step.step, name);
  const double from = microseconds(step.begin_seconds + begin, what);
  const double to = microseconds(step.begin_seconds + end, what);
  // A difference of two such numbers has digits behind its nanoseconds.
  const double duration = std::round((to - from) * 1e3) / 1e3;
  return {{"name", name}, {"cat", category}, {"ph", "X"},
          {"ts", from},   {"dur", duration}, {"pid", step.rank}};
}

Json step_event(const TracedStep& step) {
  Json event = complete_event(text("step {}", step.step), "step", 0.0, step.seconds, step);
  event["tid"] = 0;
  event["args"] = {{"mode", step.mode}, {"step", step.step}};
  return event;
}

Json phase_event(const TraceSpan& span, const TracedStep& step) {
  Json event = complete_event(span.phase, "phase", span.begin_seconds, span.end_seconds, step);
  event["tid"] = span.queue;
  Json args = {{"mode", step.mode}, {"step", step.step}, {"ops", span.ops}};
  if (span.collectives > 0) {
    args["collectives"] = span.collectives;
    args["sent_bytes"] = span.sent_bytes;
    args["received_bytes"] = span.received_bytes;
  }
  if (span.complete_seconds > span.end_seconds)
    args["in_flight_until_us"] = microseconds(step.begin_seconds + span.complete_seconds, span.phase);
  event["args"] = std::move(args);
  return event;
}

Json metadata_event(const char* name, int rank, int queue, const Json& args) {
  return {{"name", name}, {"ph", "M"}, {"pid", rank}, {"tid", queue}, {"args", args}};
}

std::map<int, int> queues_of_ranks(const Trace& trace) {
  std::map<int, int> queues;
  for (const TracedStep& step : trace.steps)
    for (const TraceSpan& span : step.spans) queues[step.rank] = std::max(queues[step.rank], span.queue);
  return queues;
}

std::vector<std::string> events(const Trace& trace) {
  std::vector<std::string> lines;
  const std::map<int, int> queues = queues_of_ranks(trace);
  for (const TracedRank& rank : trace.ranks) {
    const std::string name = text("rank {} (g={}, t={}) on {}", rank.rank, rank.g, rank.t, rank.host);
    lines.push_back(line(metadata_event("process_name", rank.rank, 0, {{"name", name}})));
    lines.push_back(line(metadata_event("process_sort_index", rank.rank, 0, {{"sort_index", rank.rank}})));
    const auto last = queues.find(rank.rank);
    for (int queue = 0; queue <= (last == queues.end() ? 0 : last->second); ++queue)
      lines.push_back(
          line(metadata_event("thread_name", rank.rank, queue, {{"name", text("queue {}", queue)}})));
  }
  for (const TracedStep& step : trace.steps) {
    lines.push_back(line(step_event(step)));
    for (const TraceSpan& span : step.spans) lines.push_back(line(phase_event(span, step)));
  }
  return lines;
}

}  // namespace

std::string to_trace_json(const Trace& trace) {
  const auto& skew = trace.largest_start_skew_seconds;
  const Json facts = {
      {"program", "muonbench"},   {"version", trace.version},
      {"git_sha", trace.git_sha}, {"time", trace.time},
      {"argv", trace.argv},       {"tracing", kTracing},
      {"alignment", kAlignment},  {"largest_start_skew_seconds", skew ? Json(*skew) : Json()}};
  // An event a line: a trace of many steps is large, and its text is all that is ever needed.
  return text("{{\"displayTimeUnit\": \"ms\",\n\"otherData\": {},\n\"traceEvents\": [\n{}\n]}}\n",
              line(facts), join(events(trace), ",\n"));
}

}  // namespace muonbench
