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

// Pages of files that nobody has used for long: a control group gives them back before it refuses memory.
std::int64_t reclaimable_in_cgroup() {
  std::ifstream file("/sys/fs/cgroup/memory.stat");
  std::string key;
  for (std::int64_t value = 0; file >> key >> value;)
    if (key == "inactive_file") return value;
  return 0;
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
  if (!limit || !used) return machine;
  const std::int64_t left = *limit - *used + reclaimable_in_cgroup();
  return std::min(machine, Bytes(std::clamp<std::int64_t>(left, 0, *limit)));
}

}  // namespace muonbench::cpu
