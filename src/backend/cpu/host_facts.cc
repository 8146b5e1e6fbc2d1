// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/host_facts.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench::cpu {
namespace {

// The rest of the line that starts with `key`, after the colon.
std::optional<std::string> value_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t value = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (value != std::string::npos) return line.substr(value);
  }
  return std::nullopt;
}

// /proc/meminfo counts in units of 1024 bytes.
Bytes meminfo(std::string_view key) {
  const std::optional<std::string> value = value_of("/proc/meminfo", key);
  if (!value) throw RuntimeFailure(text("/proc/meminfo has no line {}", key));
  return Bytes(std::stoll(*value) * 1024);
}

// A control group's file holds one number, or "max".
std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string processor_name() { return value_of("/proc/cpuinfo", "model name").value_or("unknown processor"); }

Bytes total_memory() { return meminfo("MemTotal"); }

Bytes available_memory() {
  const Bytes machine = meminfo("MemAvailable");
  const std::optional<std::int64_t> limit = number_in("/sys/fs/cgroup/memory.max");
  const std::optional<std::int64_t> used = number_in("/sys/fs/cgroup/memory.current");
  return limit && used ? std::min(machine, Bytes(std::max<std::int64_t>(*limit - *used, 0))) : machine;
}

}  // namespace muonbench::cpu
