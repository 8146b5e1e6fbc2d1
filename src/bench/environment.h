// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What one process can say about itself and its host, without MPI. Linux's files under /proc and /sys; what
/// cannot be read is unknown, not 0.
namespace muonbench {

/// The host's name as the kernel has it, "unknown" if it has none.
[[nodiscard]] std::string host_name();

/// Cores that this process may use at once: its affinity mask, cut down to the CPU quota of its control
/// group. At least 1.
[[nodiscard]] int usable_cores();

/// Physical memory of the host in bytes, cut down to the memory limit of the control group.
[[nodiscard]] std::optional<std::int64_t> usable_memory_bytes();

/// What the host's processes may still take without swapping (MemAvailable), cut down to what the memory
/// limit of the control group leaves.
[[nodiscard]] std::optional<std::int64_t> available_memory_bytes();

/// Now, in UTC, ISO 8601 to the second: "2026-03-01T12:00:00Z".
[[nodiscard]] std::string utc_time_now();

/// Values of the named environment variables; an unset one is empty. Only named ones: the rest may hold
/// secrets.
[[nodiscard]] std::map<std::string, std::optional<std::string>> environment_variables(
    const std::vector<std::string>& names);

/// Largest resident size of this process since its start or the last successful reset (VmHWM), in bytes.
[[nodiscard]] std::optional<std::int64_t> process_peak_bytes();

/// kUnavailable: the kernel refuses (some containers do); the peak then counts from the process's start.
enum class PeakReset { kDone, kUnavailable };
PeakReset reset_process_peak();

/// CPU model as /proc/cpuinfo names it, empty if it does not.
[[nodiscard]] std::string cpu_model();

// ---- The readers behind these, on text, so that they can be tested.

/// "VmHWM:   1234 kB" in the text of /proc/PID/status, in bytes.
[[nodiscard]] std::optional<std::int64_t> peak_bytes_in_status(std::string_view status);

/// "MemAvailable:  1234 kB" in the text of /proc/meminfo, in bytes.
[[nodiscard]] std::optional<std::int64_t> available_bytes_in_meminfo(std::string_view meminfo);

/// What a control group leaves, from the texts of its memory.max, memory.current and memory.stat: pages of
/// files that nobody has used for long (inactive_file) are given back on demand. Empty without a limit.
[[nodiscard]] std::optional<std::int64_t> bytes_left_in_cgroup(std::string_view max, std::string_view current,
                                                               std::string_view stat);

/// Cores granted by the text of a cpu.max file ("150000 100000"); empty for "max 100000" or text of another
/// form.
[[nodiscard]] std::optional<double> cores_in_cpu_max(std::string_view cpu_max);

/// Path of the process's control group in the text of /proc/PID/cgroup ("0::/a/b" gives "/a/b"); empty if not
/// listed.
[[nodiscard]] std::string cgroup_path(std::string_view proc_cgroup);

}  // namespace muonbench
