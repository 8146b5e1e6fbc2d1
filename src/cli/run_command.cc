// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <utility>

#include "src/backend/mpi/mpi_check.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/bench/interrupt.h"
#include "src/bench/resolve.h"
#include "src/bench/session.h"
#include "src/bench/wire.h"
#include "src/cli/agree.h"
#include "src/cli/commands.h"
#include "src/cli/output_file.h"
#include "src/config/read_config.h"
#include "src/config/words.h"
#include "src/model/checkpoint.h"
#include "src/report/report.h"
#include "src/report/trace.h"

namespace muonbench {
namespace {

/// `checkpoint`: what rank 0 found at model.safetensors; empty on rank 0 itself.
std::unique_ptr<ResolvedRun> read_run(const std::string& config_text, const Arguments& arguments, int ranks,
                                      const std::string& checkpoint) {
  RunConfig config = read_config(config_text, arguments.config, arguments.overrides, vocabulary());
  return naming_source(arguments.config, [&] {
    require_world_size(config.parallelism, ranks, arguments.config);
    config.model.checkpoint = checkpoint;
    if (config.model.safetensors && checkpoint.empty())
      config.model.checkpoint = checkpoint_tensors(*config.model.safetensors);
    return resolve(std::move(config));
  });
}

void refuse_missing_abilities(const RunConfig& config, const Capabilities& device,
                              const std::string& source) {
  if (config.muon.fp32_matmul_prec == MatmulPrecision::kHigh && !device.tf32)
    throw ConfigError(text("{}: muon.fp32_matmul_prec: expected highest or medium on {}, got 'high'", source,
                           device.device_name));
  const NsAlgorithm algorithm = config.muon.ns_algorithm;
  // auto is gemm where products are not those of 16 bits.
  const bool symmetric =
      takes_halves(algorithm) ||
      (algorithm == NsAlgorithm::kAuto && config.muon.fp32_matmul_prec == MatmulPrecision::kMedium);
  if (symmetric && !(device.syrk && device.gram))
    throw ConfigError(
        text("{}: muon.ns_algorithm: expected gemm, as symmetric products need a GPU of compute capability "
             "9.0 and a program built with --cuda_archs=90a, and this is {}, got '{}'",
             source, device.device_name, name_in(kNsAlgorithmNames, algorithm)));
}

Provenance provenance_of(const Arguments& arguments, const MpiRuntime& runtime) {
  return Provenance{arguments.argv,
                    std::string(version()),
                    std::string(git_sha()),
                    git_dirty(),
                    {{"mpi", mpi_library_version()}, {"compiler", std::string(compiler())}},
                    runtime.local_rank(),
                    runtime.local_cores()};
}

void write_trace(const SessionOutcome& outcome, const Arguments& arguments) {
  if (arguments.trace.empty()) return;
  if (outcome.code == ExitCode::kInterrupted)
    log_warn(text("--trace: {} is not written, the run was interrupted", arguments.trace));
  else
    write_file_atomically(arguments.trace, to_trace_json(outcome.trace), arguments.overwrite);
}

}  // namespace

ExitCode run_command(const Arguments& own, const MpiRuntime& runtime, ControlPlane& control,
                     Interrupt& interrupt, std::optional<Watchdog>& watchdog) {
  // Rank 0 alone reads files, so the others need no shared file system, and its command line is everybody's.
  Arguments arguments = own;
  std::unique_ptr<ResolvedRun> run;
  const auto config_text = decide_on_rank0(control, [&] {
    std::string content = read_text_file(own.config);
    run = read_run(content, own, control.size(), "");
    check_outputs(own);
    return content;
  });
  if (!config_text) return ExitCode::kUsage;
  arguments.config = control.broadcast(own.config);
  arguments.overrides = unpack_strings(control.broadcast(pack_strings(own.overrides)));
  arguments.trace = control.broadcast(own.trace);
  const std::string checkpoint = control.broadcast(run ? run->config.model.checkpoint : "");
  if (control.rank() != 0) run = read_run(*config_text, arguments, control.size(), checkpoint);
  const DomainPlace place = run->grid.coordinates(Family::kDense, runtime.rank()).place;
  init_log(text("rank {},{}", place.g.value(), place.t.value()),
           control.rank() == 0 ? LogLevel::kInfo : LogLevel::kWarn);
  set_mpi_rank_label(text("g={}, t={}", place.g.value(), place.t.value()));

  watchdog.emplace(run->config.run.timeout_seconds,
                   text("rank {} on {}", runtime.rank().value(), runtime.host()));
  watchdog->expect("agreeing on devices");
  const std::unique_ptr<Device> device = agree_on_devices(run->config.run, runtime, control);
  if (!device) return ExitCode::kUsage;
  const auto able = decide_on_rank0(control, [&] {
    refuse_missing_abilities(run->config, device->capabilities(), arguments.config);
    return std::string();
  });
  if (!able) return ExitCode::kUsage;
  if (control.rank() == 0)
    for (const std::string& warning : run->warnings) log_warn(warning);

  watchdog->expect("making the communicators");
  CommSet comms(run->grid, runtime.rank(), make_comms(run->config.run.transport, *device, runtime));
  OutputFile output(control.rank() == 0 ? arguments.output : std::string(), arguments.overwrite);
  const Interrupt::Scope marking(interrupt, [&] { output.mark_interrupted(); });
  Progress progress(control.rank() == 0 ? Progress::on_terminal() : Progress::Shown::kNo);
  RankContext context{runtime.rank(), *device, comms, control, &*watchdog, &interrupt.requested(), &progress};
  if (!arguments.trace.empty()) context.tracing = Tracing::kOn;
  const Provenance provenance = provenance_of(arguments, runtime);
  const SessionOutcome outcome =
      run_session(*run, provenance, context, [&](const Result& so_far) { output.update(so_far); });
  if (control.rank() == 0) {
    for (const std::string& fault : outcome.faults) log_error(fault);
    write_trace(outcome, arguments);
    // The file comes last: it says that all was delivered.
    deliver(outcome.result, arguments);
    output.finish(outcome.result);
  }
  // The first rank that ends has the launcher end the others: not before the result is written.
  if (outcome.code == ExitCode::kInterrupted) control.barrier();
  watchdog->expect("ending MPI");
  return outcome.code;
}

}  // namespace muonbench
