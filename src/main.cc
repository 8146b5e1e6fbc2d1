// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "src/backend/mpi/mpi_control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/base/end_process.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bench/interrupt.h"
#include "src/bench/watchdog.h"
#include "src/cli/agree.h"
#include "src/cli/arguments.h"
#include "src/cli/commands.h"

namespace muonbench {
namespace {

/// A launcher that set none of these starts one process alone.
int launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets any
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return 0;
}

int end_before_mpi(const ParsedArguments& parsed) try {
  if (launched_rank() == 0) {
    if (parsed.ends == ExitCode::kDone)
      print_result(parsed.text);
    else
      log_error(parsed.text);
  }
  return static_cast<int>(*parsed.ends);
} catch (const Error& error) {
  log_error(error.what());
  return static_cast<int>(error.code());
}

/// Ends with what the error asks for, said once.
int run_alone(const Arguments& arguments) {
  if (launched_rank() != 0) return static_cast<int>(ExitCode::kDone);  // one process answers for all
  try {
    const bool models = arguments.command == Command::kModels;
    return static_cast<int>(models ? models_command(arguments) : plan_command(arguments));
  } catch (const Error& error) {
    log_error(error.what());
    return static_cast<int>(error.code());
  }
}

int run_with_mpi(const Arguments& arguments, const MpiRuntime& runtime, Interrupt& interrupt,
                 std::optional<Watchdog>& watchdog) {
  MpiControlPlane control(runtime);
  switch (arguments.command) {
    case Command::kRun:
      return static_cast<int>(run_command(arguments, runtime, control, interrupt, watchdog));
    case Command::kGolden: return static_cast<int>(golden_command(arguments, runtime, control));
    case Command::kPlan:
    case Command::kModels: break;
  }
  return run_alone(arguments);
}

int run_process(int argc, char** argv) {
  init_log(text("rank {}", launched_rank()), launched_rank() == 0 ? LogLevel::kInfo : LogLevel::kWarn);
  // A reader that went away is a failed write, not a signal death.
  std::signal(SIGPIPE, SIG_IGN);
  const ParsedArguments parsed = parse_arguments(argc, argv);
  if (parsed.ends) return end_before_mpi(parsed);
  const Command command = parsed.arguments.command;
  if (command == Command::kPlan || command == Command::kModels) return run_alone(parsed.arguments);

  Interrupt interrupt;
  // Outlives MPI, whose end waits for every rank as a collective does.
  std::optional<Watchdog> watchdog;
  const MpiRuntime runtime(&argc, &argv);
  // Whatever fails on one rank ends the job: its peers may be inside a collective that it will never join.
  const auto end_job = [&](ExitCode code, const char* what) {
    log_error(text("rank {} on {}: {}", runtime.rank().value(), runtime.host(), what));
    runtime.abort(code);
  };
  try {
    const int code = run_with_mpi(parsed.arguments, runtime, interrupt, watchdog);
    // The launcher is on its way out, and MPI_Finalize would wait for it.
    if (code == static_cast<int>(ExitCode::kInterrupted)) end_process(ExitCode::kInterrupted);
    return code;
  } catch (const Error& error) {
    end_job(error.code(), error.what());
  } catch (const std::exception& error) {
    end_job(ExitCode::kRuntime, error.what());
  }
  return static_cast<int>(ExitCode::kRuntime);
}

}  // namespace
}  // namespace muonbench

int main(int argc, char** argv) {
  try {
    return muonbench::run_process(argc, argv);
  } catch (...) {
    std::fputs("muonbench: failed before MPI was up\n", stderr);
    return static_cast<int>(muonbench::ExitCode::kRuntime);
  }
}
