// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.h"

#include <memory>
#include <string_view>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace muonbench {
namespace {

std::unique_ptr<spdlog::logger> make_logger(const std::string& label) {
  auto logger = std::make_unique<spdlog::logger>(label, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(label.empty() ? "[%H:%M:%S.%e] %l: %v" : "[%H:%M:%S.%e] [%n] %l: %v");
  return logger;
}

/// What is said before init_log has no label, yet is not lost.
std::unique_ptr<spdlog::logger>& process_logger() {
  static std::unique_ptr<spdlog::logger> logger = make_logger("");
  return logger;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void init_log(const std::string& label, LogLevel level) {
  process_logger() = make_logger(label);
  process_logger()->set_level(spdlog_level(level));
}

void log_line(LogLevel level, const std::string& message) {
  // mpirun interleaves the ranks' lines: a line without its own head would belong to nobody.
  std::string_view rest = message;
  while (true) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    process_logger()->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
    if (end == std::string_view::npos || end + 1 == rest.size()) return;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace muonbench
