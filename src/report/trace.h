// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/bench/trace.h"

namespace muonbench {

/// Trace events as chrome://tracing and ui.perfetto.dev read them: a process per rank, a thread per queue,
/// times in microseconds. An event of category "step" holds those of category "phase". Throws RuntimeFailure
/// naming the span if a time is not finite.
[[nodiscard]] std::string to_trace_json(const Trace& trace);

}  // namespace muonbench
