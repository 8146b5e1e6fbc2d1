// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/exec/step_recorder.h"

#include <algorithm>
#include <map>

#include "src/base/check.h"

namespace muonbench {

std::vector<PhaseSpan> phase_spans(const StepProgram& program, const std::vector<OpTime>& times,
                                   const std::vector<WireBytes>& wire) {
  std::vector<PhaseSpan> spans;
  std::map<int, std::size_t> latest;  // span of each queue
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const auto known = latest.find(op.queue);
    if (known == latest.end() || spans[known->second].phase != op.phase) {
      // A collective of the span before may still be under way: the queue has gone on without it.
      if (known != latest.end()) {
        PhaseSpan& before = spans[known->second];
        before.end = std::min(before.end, times[i].begin);
      }
      latest[op.queue] = spans.size();
      spans.push_back({op.phase, op.queue, times[i].begin, times[i].end, times[i].end, 0, 0, {}, {}});
    }
    PhaseSpan& span = spans[latest[op.queue]];
    span.end = std::max(span.end, times[i].end);
    span.complete = span.end;
    span.ops += 1;
    span.collectives += group_of(op) ? 1 : 0;
    span.sent += wire[i].sent;
    span.received += wire[i].received;
  }
  return spans;
}

void StepRecorder::begin_step() {
  moments_.assign(program_.ops.size(), {});
  device_.reset_times();
}

void StepRecorder::starts(int op, Queue queue) {
  moments_[static_cast<std::size_t>(op)].begin = device_.record_time(queue);
}

void StepRecorder::completes(int op, Queue queue) {
  moments_[static_cast<std::size_t>(op)].end = device_.record_time(queue);
}

std::vector<OpTime> StepRecorder::times() {
  std::vector<OpTime> times;
  times.reserve(moments_.size());
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    MUONBENCH_CHECK(moments_[i].begin && moments_[i].end, "op {} of {} was not timed", i, moments_.size());
    times.push_back({device_.seconds_at(*moments_[i].begin), device_.seconds_at(*moments_[i].end)});
  }
  return times;
}

}  // namespace muonbench
