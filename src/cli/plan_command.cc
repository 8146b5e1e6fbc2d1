// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/base/log.h"
#include "src/bench/plan_run.h"
#include "src/bench/resolve.h"
#include "src/cli/agree.h"
#include "src/cli/commands.h"
#include "src/config/read_config.h"
#include "src/config/words.h"
#include "src/report/report.h"

namespace muonbench {
namespace {

/// A plan runs nowhere, so it may be for a backend that this build lacks.
ConfigVocabulary plannable() {
  ConfigVocabulary words = vocabulary();
  words.backends.clear();
  for (const auto& [backend, name] : kBackendNames) words.backends.emplace_back(name);
  return words;
}

}  // namespace

ExitCode plan_command(const Arguments& arguments) {
  const std::string& source = arguments.config;
  RunConfig config = read_config(read_text_file(source), source, arguments.overrides, plannable());
  check_outputs(arguments);
  Result result = naming_source(source, [&] {
    const std::unique_ptr<ResolvedRun> run = resolve(std::move(config));
    for (const std::string& warning : run->warnings) log_warn(warning);
    return plan_run(*run);
  });
  result.argv = arguments.argv;
  if (!arguments.output.empty())
    write_file_atomically(arguments.output, to_json(result), arguments.overwrite);
  deliver(result, arguments);
  return ExitCode::kDone;
}

}  // namespace muonbench
