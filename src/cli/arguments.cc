// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/cli/arguments.h"

#include <CLI/CLI.hpp>

#include "src/backend/mpi/mpi_runtime.h"
#include "src/backend/select.h"
#include "src/base/text.h"
#include "src/base/version.h"

namespace muonbench {
namespace {

std::string version_text() {
  std::string versions = text("muonbench {} ({}{}), {}\n{}\n", version(), git_sha(), git_dirty() ? ", modified" : "",
                              compiler(), mpi_library_version());
  for (const std::string& backend : linked_backends()) {
    versions += text("backend {}", backend);
    for (const auto& [name, value] : make_device(backend, 0)->capabilities().versions) versions += text("; {} {}", name, value);
    versions += '\n';
  }
  return versions;
}

}  // namespace

ParsedArguments parse_arguments(int argc, char** argv) {
  ParsedArguments parsed;
  Arguments& arguments = parsed.arguments;
  arguments.argv.assign(argv, argv + argc);
  CLI::App app("Which way of sharding the optimizer fits in memory and is fastest: layer-sharded Muon and its rivals, "
               "measured on this machine or cluster.",
               "muonbench");
  app.require_subcommand(1);
  bool version_wanted = false;
  bool overwrite = false;
  app.add_flag("--version", version_wanted, "Versions of this program and of the libraries behind it");

  const auto add_overrides = [&](CLI::App& command) {
    command.add_option("--set", arguments.overrides, "KEY=VALUE: overrides a key of the configuration by its dotted path")
        ->type_name("KEY=VALUE")
        ->take_all()
        ->allow_extra_args(false);
  };
  CLI::App& run = *app.add_subcommand("run", "Measures the modes of a configuration; start it with mpirun");
  run.add_option("--config", arguments.config, "Configuration, see configs/README.md")->required()->type_name("FILE.json");
  add_overrides(run);
  run.add_option("--output", arguments.output, "Where the JSON result goes")->type_name("FILE.json");
  run.add_flag("--overwrite", overwrite, "Replaces an existing --output");
  const std::map<std::string, OutputFormat> formats = {
      {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"csv", OutputFormat::kCsv}};
  run.add_option("--format", arguments.format, "What goes to stdout")
      ->transform(CLI::CheckedTransformer(formats).description("{table,json,csv}"))
      ->default_str("table");

  CLI::App& golden = *app.add_subcommand("golden", "Checks this build against another framework's numbers, case by case");
  golden.add_option("file", arguments.golden, "Golden file")->required()->type_name("FILE.json");
  add_overrides(golden);

  try {
    app.parse(argc, argv);
    arguments.command = golden.parsed() ? Command::kGolden : Command::kRun;
    arguments.overwrite = overwrite ? Overwrite::kAllow : Overwrite::kRefuse;
  } catch (const CLI::CallForHelp&) {
    parsed.ends = ExitCode::kDone;
    parsed.text = app.help();
    for (const CLI::App* command : app.get_subcommands()) parsed.text = command->help();
  } catch (const CLI::ParseError& error) {
    parsed.ends = ExitCode::kUsage;
    parsed.text = text("{}; see muonbench --help", error.what());
  }
  if (version_wanted) {
    parsed.ends = ExitCode::kDone;
    parsed.text = version_text();
  }
  return parsed;
}

}  // namespace muonbench
