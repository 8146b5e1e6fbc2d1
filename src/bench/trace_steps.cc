// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/trace_steps.h"

#include <algorithm>
#include <map>

#include "src/bench/wire.h"

namespace muonbench {
namespace {

/// A rank's step as it travels to rank 0, its spans behind it.
struct StepHead {
  double clock_seconds = 0, seconds = 0;
};

std::string pack_step(const RankStepTrace& step) {
  return pack(std::vector{StepHead{step.clock_seconds, step.seconds}}) + pack(step.spans);
}

StepHead head_of(const std::string& bytes) {
  return unpack<StepHead>(bytes.substr(0, sizeof(StepHead))).front();
}

TraceSpan trace_span(const PhaseSpan& span) {
  return {std::string(name_of(span.phase)),
          span.queue,
          span.begin,
          span.end,
          span.complete,
          span.ops,
          span.collectives,
          span.sent.value(),
          span.received.value()};
}

std::vector<WireBytes> wire_of(const StepProgram& program, const RankGrid& grid, WorldRank rank) {
  std::vector<WireBytes> wire;
  wire.reserve(program.ops.size());
  for (const Op& op : program.ops) {
    const auto group = group_of(op);
    wire.push_back(group ? wire_bytes(program, op, grid.index_in_group(*group, rank)) : WireBytes{});
  }
  return wire;
}

/// Largest difference between clocks of ranks that share one.
std::optional<double> start_skew(const std::vector<TracedRank>& ranks, const std::vector<double>& clocks) {
  std::map<std::string, std::vector<double>> by_host;
  for (std::size_t r = 0; r < ranks.size(); ++r) by_host[ranks[r].host].push_back(clocks[r]);
  std::optional<double> largest;
  for (const auto& [host, starts] : by_host) {
    if (starts.size() < 2) continue;
    const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
    largest = std::max(largest.value_or(0.0), *last - *first);
  }
  return largest;
}

}  // namespace

StepTracer::StepTracer(const StepProgram& program, const RankGrid& grid, WorldRank rank, Device& device)
    : program_(program), recorder_(program, device), wire_(wire_of(program, grid, rank)) {}

StepRecorder* StepTracer::begin(std::int64_t step) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  steps_.push_back({step, std::chrono::duration<double>(now).count(), 0.0, {}});
  return &recorder_;
}

void StepTracer::end(double seconds) {
  steps_.back().seconds = seconds;
  steps_.back().spans = phase_spans(program_, recorder_.times(), wire_);
}

void TraceCollector::add(std::string_view mode, const std::vector<RankStepTrace>& mine) {
  for (const RankStepTrace& step : mine) {
    const std::vector<std::string> by_rank = control_.gather(pack_step(step));
    if (control_.rank() == 0) add_step(mode, step.step, by_rank);
  }
}

void TraceCollector::add_step(std::string_view mode, std::int64_t step,
                              const std::vector<std::string>& by_rank) {
  std::vector<double> clocks;
  clocks.reserve(by_rank.size());
  for (const std::string& bytes : by_rank) clocks.push_back(head_of(bytes).clock_seconds);
  if (!origin_) origin_ = clocks.front();
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    TracedStep traced{static_cast<int>(r),       std::string(mode),           step,
                      clocks.front() - *origin_, head_of(by_rank[r]).seconds, {}};
    for (const PhaseSpan& span : unpack<PhaseSpan>(by_rank[r].substr(sizeof(StepHead))))
      traced.spans.push_back(trace_span(span));
    trace_.steps.push_back(std::move(traced));
  }
  if (const auto skew = start_skew(trace_.ranks, clocks))
    trace_.largest_start_skew_seconds = std::max(trace_.largest_start_skew_seconds.value_or(0.0), *skew);
}

}  // namespace muonbench
