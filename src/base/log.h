// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace muonbench {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

/// Sends the log to stderr (spdlog), one write per line, each line headed by "[label]", which names the rank:
/// "[rank g,t]". Lines below `level` are dropped. Call once per process, before the first line.
void init_log(const std::string& label, LogLevel level);

void log_line(LogLevel level, const std::string& message);
inline void log_debug(const std::string& message) { log_line(LogLevel::kDebug, message); }
inline void log_info(const std::string& message) { log_line(LogLevel::kInfo, message); }
inline void log_warn(const std::string& message) { log_line(LogLevel::kWarn, message); }
inline void log_error(const std::string& message) { log_line(LogLevel::kError, message); }

}  // namespace muonbench
