// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/bench/result.h"

/// Renders a Result; decides nothing.
namespace muonbench {

/// The JSON document of the result schema, indented by two, ending in a newline. Throws RuntimeFailure naming
/// the field if a number that must be finite is not: such a value is a bug upstream, and JSON has no word for
/// it. The differences and deltas of a run that counted non-finite values are null instead: there the count
/// says why.
[[nodiscard]] std::string to_json(const Result& result);

/// The table for people: a row per mode with what decides (step time, speed-up, memory and bytes of the
/// heaviest rank), then a row per mode and rank, unit rows under the names, MiB = 2^20, GB/s = 1e9 B/s.
[[nodiscard]] std::string to_table(const Result& result);

/// RFC 4180, one header, a row per mode and rank, fixed column order, numbers that round-trip.
[[nodiscard]] std::string to_csv(const Result& result);

/// Whether an older file may be replaced.
enum class Overwrite { kRefuse, kAllow };

/// Refuses, before any step is run, a path that could not be written afterwards: an existing file under
/// kRefuse, a directory, a missing or unwritable directory. Throws ConfigError with path and the system's
/// reason. Leaves no file. A path that is no regular file (a pipe, /dev/null) has nothing to lose and is let
/// through if it may be written to.
void check_output_writable(const std::string& path, Overwrite overwrite);

/// Writes to a temporary file beside `path` and renames it: the file appears whole or not at all. Throws
/// RuntimeFailure with path and the system's reason; write, flush and close are checked, and a failure leaves
/// no temporary file behind. What is no regular file is no place to rename onto: it is opened and written,
/// checked likewise. Under kRefuse a regular file that stands there by now is refused as by
/// check_output_writable.
void write_file_atomically(const std::string& path, const std::string& content,
                           Overwrite overwrite = Overwrite::kAllow);

}  // namespace muonbench
