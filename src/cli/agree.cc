// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/cli/agree.h"

#include <cstdio>
#include <filesystem>

#include "src/backend/mpi/mpi_comm.h"
#include "src/backend/select.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bench/resolve.h"
#include "src/program/modes.h"
#include "src/report/report.h"

namespace muonbench {

std::optional<std::string> decide_on_rank0(ControlPlane& control,
                                           const std::function<std::string()>& decide) {
  std::string answer = "+";
  if (control.rank() == 0) {
    try {
      answer += decide();
    } catch (const ConfigError& error) {
      log_error(error.what());
      answer = "-";
    }
  }
  answer = control.broadcast(answer);
  if (answer.front() == '-') return std::nullopt;
  return answer.substr(1);
}

ConfigVocabulary vocabulary() {
  ConfigVocabulary words;
  for (const Mode& mode : modes()) words.modes.emplace_back(mode.name);
  words.backends = linked_backends();
  return words;
}

void require_world_size(const ParallelismConfig& p, int ranks, const std::string& source) {
  const std::int64_t world = grid_shape(p).world_size();
  if (world == ranks) return;
  const char* hint = ranks == 1 ? "; start it with mpirun -n" : "";
  throw ConfigError(text(
      "{}: parallelism: expected tp({}) x gtp_remat({}) x dp({}) x pp({}) = {} ranks, got a world size of "
      "{}{}{}",
      source, p.tp, p.gtp_remat, p.dp, p.pp, world, ranks, hint, ranks == 1 ? text(" {}", world) : ""));
}

MakeComm mpi_comms(const MpiRuntime& runtime) {
  return [&runtime](const std::vector<WorldRank>& members) {
    return make_mpi_comm(runtime, members.front().value(), runtime.rank().value());
  };
}

void print_result(const std::string& content) {
  if (std::fwrite(content.data(), 1, content.size(), stdout) != content.size() || std::fflush(stdout) != 0)
    throw RuntimeFailure("standard output: the result could not be written");
}

std::string render(const Result& result, OutputFormat format) {
  switch (format) {
    case OutputFormat::kTable: return to_table(result);
    case OutputFormat::kJson: return to_json(result);
    case OutputFormat::kCsv: return to_csv(result);
  }
  return "";
}

void check_outputs(const Arguments& arguments) {
  for (const std::string& path : {arguments.output, arguments.csv})
    if (!path.empty()) check_output_writable(path, arguments.overwrite);
  const auto plain = [](const std::string& path) { return std::filesystem::weakly_canonical(path); };
  if (!arguments.output.empty() && !arguments.csv.empty() && plain(arguments.output) == plain(arguments.csv))
    throw ConfigError(text("--csv: expected another file than --output, got {} for both", arguments.csv));
}

void deliver(const Result& result, const Arguments& arguments) {
  if (!arguments.csv.empty()) write_file_atomically(arguments.csv, to_csv(result), arguments.overwrite);
  print_result(render(result, arguments.format));
}

}  // namespace muonbench
