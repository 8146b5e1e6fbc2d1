// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/cli/arguments.h"

#include <CLI/CLI.hpp>

#include "src/backend/mpi/mpi_runtime.h"
#include "src/backend/select.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/program/modes.h"

namespace muonbench {
namespace {

std::string version_text() {
  std::string versions = text("muonbench {} ({}{}), {}\n{}\n", version(), git_sha(),
                              git_dirty() ? ", modified" : "", compiler(), mpi_library_version());
  for (const std::string& backend : linked_backends()) {
    versions += text("backend {}", backend);
    for (const auto& [name, value] : library_versions(backend)) versions += text("; {} {}", name, value);
    versions += '\n';
  }
  return versions;
}

std::string modes_text() {
  std::string lines = "Modes of this build:";
  for (const Mode& mode : modes()) lines += text("\n  {:<16} {}", mode.name, mode.what);
  return lines;
}

/// The commands and their options, bound to the values that they set.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.add_flag("--version", version_wanted_, "Versions of this program and of the libraries behind it");
    add_run("run", "Measures the modes of a configuration; start it with mpirun")
        ->add_option("--trace", arguments_.trace,
                     "Where a timeline of the timed steps goes, for ui.perfetto.dev or chrome://tracing")
        ->type_name("FILE.json");
    plan_ = add_run(
        "plan", "Memory, NS work and traffic of every rank, for any world size, without running anything");
    golden_ =
        app_.add_subcommand("golden", "Checks this build against another framework's numbers, case by case");
    golden_->add_option("file", arguments_.golden, "Golden file")->required()->type_name("FILE.json");
    add_overrides(*golden_);
    models_ = app_.add_subcommand("models", "Lists the models of model.preset, or the weights of one");
    models_->add_option("name", arguments_.model, "Model")->type_name("NAME");
  }

  ParsedArguments parse(int argc, char** argv) {
    ParsedArguments parsed;
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      parsed.ends = ExitCode::kDone;
      parsed.text = app_.help();
      for (const CLI::App* command : app_.get_subcommands()) parsed.text = command->help();
    } catch (const CLI::ParseError& error) {
      parsed.ends = ExitCode::kUsage;
      parsed.text = text("{}; see muonbench --help", error.what());
    }
    if (version_wanted_) {
      parsed.ends = ExitCode::kDone;
      parsed.text = version_text();
    }
    arguments_.argv.assign(argv, argv + argc);
    arguments_.command = command();
    arguments_.overwrite = overwrite_ ? Overwrite::kAllow : Overwrite::kRefuse;
    parsed.arguments = arguments_;
    return parsed;
  }

 private:
  [[nodiscard]] Command command() const {
    if (golden_->parsed()) return Command::kGolden;
    if (models_->parsed()) return Command::kModels;
    return plan_->parsed() ? Command::kPlan : Command::kRun;
  }

  CLI::App* add_run(const char* name, const char* what) {
    const std::map<std::string, OutputFormat> formats = {
        {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"csv", OutputFormat::kCsv}};
    CLI::App* command = app_.add_subcommand(name, what);
    command->add_option("--config", arguments_.config, "Configuration, see configs/README.md")
        ->required()
        ->type_name("FILE.json");
    add_overrides(*command);
    command->add_option("--output", arguments_.output, "Where the JSON result goes")->type_name("FILE.json");
    command->add_option("--csv", arguments_.csv, "Where the result goes as CSV, a row per mode and rank")
        ->type_name("FILE.csv");
    command->add_flag("--overwrite", overwrite_, "Replaces files that exist already");
    command->add_option("--format", arguments_.format, "What goes to stdout")
        ->transform(CLI::CheckedTransformer(formats).description("{table,json,csv}"))
        ->default_str("table");
    command->footer(modes_text());
    return command;
  }

  void add_overrides(CLI::App& command) {
    command
        .add_option("--set", arguments_.overrides,
                    "KEY=VALUE: overrides a key of the configuration by its dotted path")
        ->type_name("KEY=VALUE")
        ->take_all()
        ->allow_extra_args(false);
  }

  CLI::App app_{
      "Which way of sharding the optimizer fits in memory and is fastest: layer-sharded Muon and its rivals, "
      "measured on this machine or cluster.",
      "muonbench"};
  CLI::App* plan_ = nullptr;
  CLI::App* golden_ = nullptr;
  CLI::App* models_ = nullptr;
  Arguments arguments_;
  bool version_wanted_ = false;
  bool overwrite_ = false;
};

}  // namespace

ParsedArguments parse_arguments(int argc, char** argv) { return CommandLine().parse(argc, argv); }

}  // namespace muonbench
