// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/environment.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

#include <sched.h>

#include "src/base/text.h"

namespace muonbench {
namespace {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

/// Empty if the file cannot be read. Files of /proc have no size to ask for, hence the stream.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  if (file) out << file.rdbuf();
  return out.str();
}

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = s.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(kBlank) - begin + 1);
}

std::optional<std::int64_t> integer_at_front(std::string_view s) {
  s = trimmed(s);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc() || end == s.data()) return std::nullopt;
  return value;
}

/// The rest of the first line that begins with `key`.
std::optional<std::string_view> line_after(std::string_view text, std::string_view key) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (line.starts_with(key)) return line.substr(key.size());
    begin = end + 1;
  }
  return std::nullopt;
}

/// "KEY 1234 kB", in bytes.
std::optional<std::int64_t> kibibytes_after(std::string_view text, std::string_view key) {
  const auto rest = line_after(text, key);
  if (!rest || !trimmed(*rest).ends_with("kB")) return std::nullopt;
  const auto kibibytes = integer_at_front(*rest);
  if (!kibibytes) return std::nullopt;
  return *kibibytes * 1024;
}

/// Directories from the process's control group up to the root: a limit of any of them binds.
std::vector<std::string> cgroup_directories() {
  std::string path = cgroup_path(text_of("/proc/self/cgroup"));
  std::vector<std::string> directories;
  for (; path.size() > 1 && path.front() == '/'; path.erase(path.rfind('/')))
    directories.push_back(std::string(kCgroupRoot) + path);
  directories.emplace_back(kCgroupRoot);
  return directories;
}

std::optional<double> cores_of_quota() {
  std::optional<double> least;
  const auto take = [&least](std::optional<double> cores) {
    if (cores && (!least || *cores < *least)) least = cores;
  };
  for (const std::string& directory : cgroup_directories())
    take(cores_in_cpu_max(text_of(directory + "/cpu.max")));
  // Version 1 of control groups keeps quota and period in a file each; a quota of -1 is none.
  const auto quota = integer_at_front(text_of("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
  const auto period = integer_at_front(text_of("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  if (quota && period && *quota > 0 && *period > 0)
    take(static_cast<double>(*quota) / static_cast<double>(*period));
  return least;
}

/// Hosts may have more cores than a fixed cpu_set_t holds: the mask grows until the kernel accepts it.
int cores_of_affinity() {
  constexpr int kMostCores = 1 << 20;
  for (int cores = CPU_SETSIZE; cores <= kMostCores; cores *= 2) {
    const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(static_cast<std::size_t>(cores)),
                                                             free_set);
    if (!set) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cores));
    CPU_ZERO_S(size, set.get());
    if (sched_getaffinity(0, size, set.get()) == 0) return std::max(1, CPU_COUNT_S(size, set.get()));
  }
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

}  // namespace

std::string host_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  const std::string name = static_cast<const char*>(names.nodename);
  return name.empty() ? "unknown" : name;
}

int usable_cores() {
  const int cores = cores_of_affinity();
  const std::optional<double> quota = cores_of_quota();
  if (!quota || *quota >= static_cast<double>(cores)) return cores;
  return std::max(1, static_cast<int>(*quota));
}

std::optional<std::int64_t> usable_memory_bytes() {
  std::optional<std::int64_t> least;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_size > 0) least = static_cast<std::int64_t>(pages) * page_size;
  for (const std::string& directory : cgroup_directories()) {
    const auto limit = integer_at_front(text_of(directory + "/memory.max"));
    if (limit && *limit > 0 && (!least || *limit < *least)) least = limit;
  }
  return least;
}

std::optional<std::int64_t> available_memory_bytes() {
  std::optional<std::int64_t> least = available_bytes_in_meminfo(text_of("/proc/meminfo"));
  for (const std::string& directory : cgroup_directories()) {
    const auto left =
        bytes_left_in_cgroup(text_of(directory + "/memory.max"), text_of(directory + "/memory.current"),
                             text_of(directory + "/memory.stat"));
    if (left && (!least || *left < *least)) least = left;
  }
  return least;
}

std::string utc_time_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  if (gmtime_r(&now, &utc) == nullptr) return {};
  return text("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
              utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::map<std::string, std::optional<std::string>> environment_variables(
    const std::vector<std::string>& names) {
  std::map<std::string, std::optional<std::string>> values;
  for (const std::string& name : names) {
    const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets any
    values[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  return values;
}

std::optional<std::int64_t> process_peak_bytes() {
  return peak_bytes_in_status(text_of("/proc/self/status"));
}

PeakReset reset_process_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // 5: reset the peak resident size to the current one, proc(5)
  return file ? PeakReset::kDone : PeakReset::kUnavailable;
}

std::string cpu_model() {
  const std::string cpuinfo = text_of("/proc/cpuinfo");
  const auto value = line_after(cpuinfo, "model name");
  if (!value || value->find(':') == std::string_view::npos) return {};
  return std::string(trimmed(value->substr(value->find(':') + 1)));
}

std::optional<std::int64_t> peak_bytes_in_status(std::string_view status) {
  return kibibytes_after(status, "VmHWM:");
}

std::optional<std::int64_t> available_bytes_in_meminfo(std::string_view meminfo) {
  return kibibytes_after(meminfo, "MemAvailable:");
}

std::optional<std::int64_t> bytes_left_in_cgroup(std::string_view max, std::string_view current,
                                                 std::string_view stat) {
  const auto limit = integer_at_front(max);
  const auto used = integer_at_front(current);
  if (!limit || !used) return std::nullopt;
  const auto reclaimable = line_after(stat, "inactive_file ");
  const std::int64_t kept = *used - (reclaimable ? integer_at_front(*reclaimable).value_or(0) : 0);
  return std::max<std::int64_t>(*limit - std::max<std::int64_t>(kept, 0), 0);
}

std::optional<double> cores_in_cpu_max(std::string_view cpu_max) {
  cpu_max = trimmed(cpu_max);
  const std::size_t blank = cpu_max.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto quota = integer_at_front(cpu_max.substr(0, blank));
  const auto period = integer_at_front(cpu_max.substr(blank + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::string cgroup_path(std::string_view proc_cgroup) {
  const auto path = line_after(proc_cgroup, "0::");
  return path ? std::string(trimmed(*path)) : std::string();
}

}  // namespace muonbench
