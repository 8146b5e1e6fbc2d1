// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/cli/agree.h"

#include <cstdio>
#include <filesystem>
#include <set>

#include "src/backend/select.h"
#include "src/backend/transport.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bench/resolve.h"
#include "src/program/modes.h"
#include "src/report/report.h"

namespace muonbench {
namespace {

/// Says every different refusal once. Collective.
bool any_refuses(ControlPlane& control, const std::string& own) {
  const std::vector<std::string> all = control.gather(own);
  std::set<std::string> different(all.begin(), all.end());
  different.erase("");
  for (const std::string& refusal : different) log_error(refusal);
  return control.broadcast(different.empty() ? "+" : "-") == "-";
}

}  // namespace

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

std::unique_ptr<Device> agree_on_devices(const RunSettings& run, const MpiRuntime& runtime,
                                         ControlPlane& control) {
  std::unique_ptr<Device> device;
  std::string refusal;
  try {
    device = make_device(name_in(kBackendNames, run.backend), runtime.local_rank());
  } catch (const ConfigError& error) {
    refusal = error.what();
  }
  if (any_refuses(control, refusal)) return nullptr;
  const std::string_view transport = name_in(kTransportNames, run.transport);
  if (any_refuses(control, transport_refusal(transport, *device, runtime, control))) return nullptr;
  return device;
}

MakeComm make_comms(Transport transport, Device& device, const MpiRuntime& runtime) {
  return [transport = name_in(kTransportNames, transport), &device,
          &runtime](const std::vector<WorldRank>& members) {
    return make_comm(transport, device, runtime, members.front().value(), runtime.rank().value());
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
  std::map<std::filesystem::path, std::string_view> options;
  for (const auto& [option, path] :
       {std::pair("--output", arguments.output), {"--csv", arguments.csv}, {"--trace", arguments.trace}}) {
    if (path.empty()) continue;
    check_output_writable(path, arguments.overwrite);
    const auto [other, is_new] = options.try_emplace(std::filesystem::weakly_canonical(path), option);
    if (!is_new)
      throw ConfigError(
          text("{}: expected another file than {}, got {} for both", option, other->second, path));
  }
}

void deliver(const Result& result, const Arguments& arguments) {
  if (!arguments.csv.empty()) write_file_atomically(arguments.csv, to_csv(result), arguments.overwrite);
  print_result(render(result, arguments.format));
}

}  // namespace muonbench
