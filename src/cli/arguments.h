// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/report/report.h"

namespace muonbench {

enum class OutputFormat { kTable, kJson, kCsv };
enum class Command { kRun, kPlan, kGolden, kModels };

/// The command line as values.
struct Arguments {
  Command command = Command::kRun;
  std::string config;                  ///< run, plan
  std::string golden;                  ///< golden
  std::string model;                   ///< models; empty: all of them
  std::vector<std::string> overrides;  ///< "dotted.path=value"
  std::string output, csv, trace;      ///< empty: none
  Overwrite overwrite = Overwrite::kRefuse;
  OutputFormat format = OutputFormat::kTable;
  std::vector<std::string> argv;
};

/// What the command line asks for, or how the process ends without doing anything.
struct ParsedArguments {
  Arguments arguments;
  std::optional<ExitCode> ends;  ///< kDone: --help or --version; kUsage: a mistake
  std::string text;              ///< what to print then: on stdout if kDone, else as the error
};

[[nodiscard]] ParsedArguments parse_arguments(int argc, char** argv);

}  // namespace muonbench
