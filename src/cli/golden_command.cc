// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <memory>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bench/golden.h"
#include "src/bench/wire.h"
#include "src/cli/agree.h"
#include "src/cli/commands.h"
#include "src/config/golden_file.h"
#include "src/config/read_config.h"

namespace muonbench {
namespace {

/// Where the cases run.
struct GoldenPlace {
  DomainShape domain;
  Backend backend = Backend::kCpu;
  Transport transport = Transport::kMpi;
};

constexpr std::string_view kSettable[] = {"parallelism.tp", "parallelism.gtp_remat", "run.backend",
                                          "run.transport"};

bool is_settable(const std::string& one) {
  return std::any_of(std::begin(kSettable), std::end(kSettable),
                     [&](std::string_view key) { return one.starts_with(text("{}=", key)); });
}

/// What --set says; gtp_remat = ranks / tp where it is not set.
GoldenPlace golden_place(const std::vector<std::string>& overrides, int ranks) {
  static constexpr std::string_view kBase =
      R"({"model": {"params": [{"name": "w", "shape": [16, 16]}]}, "modes": ["layer_sharded"]})";
  bool gtp_remat_set = false;
  for (const std::string& one : overrides) {
    if (!is_settable(one))
      throw ConfigError(
          text("--set {}: expected parallelism.tp, parallelism.gtp_remat, run.backend or run.transport; the "
               "cases bring "
               "everything else",
               one));
    gtp_remat_set = gtp_remat_set || one.starts_with("parallelism.gtp_remat=");
  }
  const RunConfig config = read_config(kBase, "golden", overrides, vocabulary());
  ParallelismConfig p = config.parallelism;
  if (!gtp_remat_set) {
    if (ranks % p.tp != 0)
      throw ConfigError(text("parallelism.tp: expected a divisor of {} ranks, got {}", ranks, p.tp));
    p.gtp_remat = ranks / p.tp;
  }
  require_world_size(p, ranks, "golden");
  return {{p.gtp_remat, p.tp}, config.run.backend, config.run.transport};
}

}  // namespace

ExitCode golden_command(const Arguments& own, const MpiRuntime& runtime, ControlPlane& control) {
  std::vector<GoldenCase> cases;
  GoldenPlace place;
  const auto content = decide_on_rank0(control, [&] {
    place = golden_place(own.overrides, control.size());
    std::string file = read_text_file(own.golden);
    cases = read_golden_file(file, own.golden);
    return file;
  });
  if (!content) return ExitCode::kUsage;
  if (control.rank() != 0) cases = read_golden_file(*content, own.golden);
  place = unpack<GoldenPlace>(control.broadcast(pack(std::vector{place}))).front();
  const DomainShape domain = place.domain;

  RunSettings settings;
  settings.backend = place.backend;
  settings.transport = place.transport;
  const std::unique_ptr<Device> device = agree_on_devices(settings, runtime, control);
  if (!device) return ExitCode::kUsage;
  const RankGrid grid(GridShape{domain.tp, domain.gtp_remat});
  CommSet comms(grid, runtime.rank(), make_comms(place.transport, *device, runtime));
  RankContext context{runtime.rank(), *device, comms, control};
  int failed = 0;
  std::string table =
      text("{:<32} {:>14} {:>14} {:>10}  {}\n", "case", "max abs error", "relative", "of bound", "verdict");
  for (const GoldenCase& one : cases) {
    const GoldenRow row = run_golden_case(one, domain, context);
    failed += row.passed() ? 0 : 1;
    table += text("{:<32} {:>14.6g} {:>14.6g} {:>10.4f}  {}\n", row.name, row.max_abs_error,
                  row.relative_error, row.of_bound, row.passed() ? "PASS" : "FAIL");
  }
  if (control.rank() == 0) {
    print_result(table + text("{} cases, {} passed, {} failed; gtp_remat {}, tp {}\n", cases.size(),
                              cases.size() - static_cast<std::size_t>(failed), failed, domain.gtp_remat,
                              domain.tp));
    if (cases.empty()) log_error(text("{}: no case", own.golden));
  }
  return failed > 0 || cases.empty() ? ExitCode::kWrongNumbers : ExitCode::kDone;
}

}  // namespace muonbench
