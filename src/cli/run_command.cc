// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "src/backend/select.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/bench/resolve.h"
#include "src/bench/session.h"
#include "src/bench/wire.h"
#include "src/cli/agree.h"
#include "src/cli/commands.h"
#include "src/config/read_config.h"
#include "src/report/report.h"

namespace muonbench {
namespace {

/// Heads an error that knows no file with the one that it is about.
template <class Work>
auto naming_source(const std::string& source, Work work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    throw ConfigError(message.starts_with(source) ? message : text("{}: {}", source, message));
  }
}

std::unique_ptr<ResolvedRun> read_run(const std::string& config_text, const Arguments& arguments, int ranks) {
  RunConfig config = read_config(config_text, arguments.config, arguments.overrides, vocabulary());
  return naming_source(arguments.config, [&] {
    require_world_size(config.parallelism, ranks, arguments.config);
    return resolve(std::move(config));
  });
}

std::string render(const Result& result, OutputFormat format) {
  switch (format) {
    case OutputFormat::kTable: return to_table(result);
    case OutputFormat::kJson: return to_json(result);
    case OutputFormat::kCsv: return to_csv(result);
  }
  return "";
}

void refuse_missing_abilities(const RunConfig& config, const Capabilities& device, const std::string& source) {
  if (config.muon.fp32_matmul_prec == MatmulPrecision::kHigh && !device.tf32)
    throw ConfigError(text("{}: muon.fp32_matmul_prec: expected highest or medium on backend {}, got 'high'", source,
                           device.backend));
  if (config.muon.ns_algorithm == NsAlgorithm::kSyrk && !device.syrk)
    throw ConfigError(text("{}: muon.ns_algorithm: expected gemm on {}, got 'syrk'", source, device.device_name));
}

}  // namespace

ExitCode run_command(const Arguments& own, const MpiRuntime& runtime, ControlPlane& control) {
  // Rank 0 alone reads files, so the others need no shared file system, and its command line is everybody's.
  Arguments arguments = own;
  std::unique_ptr<ResolvedRun> run;
  const auto config_text = decide_on_rank0(control, [&] {
    const std::string content = read_text_file(own.config);
    run = read_run(content, own, control.size());
    if (!own.output.empty()) check_output_writable(own.output, own.overwrite);
    return content;
  });
  if (!config_text) return ExitCode::kUsage;
  arguments.config = control.broadcast(own.config);
  arguments.overrides = unpack_strings(control.broadcast(pack_strings(own.overrides)));
  if (control.rank() != 0) run = read_run(*config_text, arguments, control.size());

  const std::string backend(name_in(kBackendNames, run->config.run.backend));
  const std::unique_ptr<Device> device = make_device(backend, runtime.local_rank());
  const auto able = decide_on_rank0(control, [&] {
    refuse_missing_abilities(run->config, device->capabilities(), arguments.config);
    return std::string();
  });
  if (!able) return ExitCode::kUsage;
  if (control.rank() == 0)
    for (const std::string& warning : run->warnings) log_warn(warning);

  CommSet comms(run->grid, runtime.rank(), mpi_comms(runtime));
  RankContext context{runtime.rank(), *device, comms, control};
  const Provenance provenance{arguments.argv, std::string(version()), std::string(git_sha()), git_dirty(),
                              {{"mpi", mpi_library_version()}, {"compiler", std::string(compiler())}},
                              runtime.local_rank()};
  SessionOutcome outcome = run_session(*run, provenance, context);
  if (control.rank() == 0) {
    for (const std::string& fault : outcome.faults) log_error(fault);
    if (!arguments.output.empty()) write_file_atomically(arguments.output, to_json(outcome.result));
    print_result(render(outcome.result, arguments.format));
  }
  return outcome.code;
}

}  // namespace muonbench
