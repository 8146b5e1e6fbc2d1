// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/session.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/base/log.h"
#include "src/base/text.h"
#include "src/bench/collect.h"
#include "src/bench/host_memory.h"
#include "src/bench/thresholds.h"

namespace muonbench {
namespace {

constexpr std::string_view kReferenceMode = "duplicated";

/// Runs the modes of one configuration and judges them.
class Session {
 public:
  Session(const ResolvedRun& run, const Provenance& provenance, RankContext& context, const ResultSink& sink)
      : run_(run),
        provenance_(provenance),
        context_(context),
        sink_(sink),
        values_(run.params, run.config.gradients.seed, run.injections) {}

  SessionOutcome run() {
    context_.expect("comparing the ranks' plans");
    require_same_plan();
    CollectedEnvironment environment = collect_environment(provenance_, context_);
    context_.expect("comparing what the ranks ask for with the memory that there is");
    require_memory(run_.config.modes, run_.inputs, environment.info.devices, context_);
    say_which_groups_overlap();
    if (const std::string unlike = unlike_devices(environment.info.devices); !unlike.empty())
      log_warn(unlike);
    outcome_.result.environment = environment.info;
    outcome_.result.config_json = run_.config.resolved_json;
    outcome_.result.argv = provenance_.argv;
    outcome_.result.model = model_info(run_.inputs);
    outcome_.result.homes = home_infos(run_.inputs);

    // Until everything is done the result says that it failed: whatever ends this process, the file is not
    // taken for a success.
    outcome_.result.status = "failed";
    report_progress();
    TraceCollector traces(untimed_trace(environment), context_.control);
    for (const std::string& name : execution_order()) {
      if (run_one(mode_named(name), environment.host_of_rank, traces) == Ending::kInterrupted)
        return interrupted();
      report_progress();
    }
    outcome_.trace = traces.take();
    restore_order();
    add_speedups(outcome_.result.modes);
    outcome_.result.complete = outcome_.code == ExitCode::kDone;
    if (outcome_.result.complete) {
      outcome_.result.status = "ok";
      judge_thresholds();
    }
    agree_on_code();
    return std::move(outcome_);
  }

 private:
  void require_same_plan() const {
    // Each rank builds its own plan from these. If one rank's differed, counts of its peers would disagree,
    // and an all_to_all might never return.
    if (!context_.control.same_everywhere(fingerprint(run_.inputs)))
      throw RuntimeFailure("ranks disagree on parameters, shard specs or homes; do all run the same binary?");
  }

  [[nodiscard]] std::vector<std::string> execution_order() const {
    std::vector<std::string> order = run_.config.modes;
    std::stable_partition(order.begin(), order.end(), [&](const std::string& name) {
      return run_.config.run.verify && name == kReferenceMode;
    });
    return order;
  }

  void report_progress() const {
    if (context_.rank.value() == 0 && sink_) sink_(outcome_.result);
  }

  SessionOutcome interrupted() {
    outcome_.code = ExitCode::kInterrupted;
    outcome_.faults.emplace_back("interrupted");
    outcome_.result.status = "interrupted";
    return std::move(outcome_);
  }

  void say_which_groups_overlap() const {
    const std::vector<std::string>& modes = run_.config.modes;
    const bool matters = std::any_of(modes.begin(), modes.end(), [](const std::string& name) {
      return mode_named(name).pipelines == Pipelines::kPerGroup;
    });
    if (!matters || context_.rank.value() != 0) return;
    const auto counted = [](std::size_t count, const char* what) {
      return text("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    const GroupQueues& queues = run_.inputs.queues;
    log_info(text("muon.concurrent_groups: {} on {}: {}", counted(run_.inputs.groups.size(), "param group"),
                  counted(static_cast<std::size_t>(queues.count), "queue"), queues.why));
  }

  /// Everything but the steps.
  [[nodiscard]] Trace untimed_trace(const CollectedEnvironment& environment) const {
    Trace trace;
    trace.version = environment.info.version;
    trace.git_sha = environment.info.git_sha;
    trace.time = environment.info.time;
    trace.argv = provenance_.argv;
    for (std::size_t r = 0; r < environment.host_of_rank.size(); ++r) {
      const WorldRank rank(static_cast<int>(r));
      const DomainPlace place = run_.grid.coordinates(Family::kDense, rank).place;
      trace.ranks.push_back({rank.value(), environment.host_of_rank[r], place.g.value(), place.t.value()});
    }
    return trace;
  }

  Ending run_one(const Mode& mode, const std::vector<std::string>& hosts, TraceCollector& traces) {
    if (mode.muon == MuonUse::kMuon && context_.rank.value() == 0 && run_.inputs.groups.empty())
      log_warn(text("mode {}: no parameter goes to Muon: no NS runs", mode.name));
    ModeRun mode_run = run_mode(mode, run_.inputs, run_.config.run, values_, context_);
    CollectedMode collected = collect_mode(mode, run_, mode_run, hosts, context_.control);
    traces.add(mode.name, mode_run.trace);
    const Ending ending = mode_run.ending;
    if (ending == Ending::kAllSteps) {
      collected.info.parity = parity(mode, mode_run, collected.check);
      judge(mode, collected);
    } else {
      collected.info.parity.why = "interrupted";
    }
    outcome_.result.modes.push_back(std::move(collected.info));
    if (mode.name == kReferenceMode) {
      reference_ = std::move(mode_run.masters);
      reference_params_ = std::move(collected.check.params);
    }
    return ending;
  }

  /// Collective where there is something to compare.
  [[nodiscard]] ParityInfo parity(const Mode& mode, const ModeRun& mode_run, const ModelCheck& check) const {
    const auto none = [](const char* why) {
      return ParityInfo{std::nullopt, std::nullopt, std::nullopt, why};
    };
    if (mode.muon != MuonUse::kMuon) return none("not a Muon mode");
    if (!run_.config.run.verify) return none("run.verify is false");
    if (mode.name == kReferenceMode) return none("the reference itself");
    if (!reference_) return none("duplicated is not among the modes");
    const MasterDifference mine = compare_masters(mode_run.masters, *reference_);
    // NaN has no place in a maximum: it travels as a flag of its own.
    const bool finite = std::isfinite(mine.max_abs_diff);
    const std::vector<double> all = context_.control.max(
        {mine.bit_identical ? 0.0 : 1.0, finite ? mine.max_abs_diff : 0.0, finite ? 0.0 : 1.0});
    ParityInfo info;
    info.reference_mode = kReferenceMode;
    if (all[2] == 0.0) {
      info.bit_identical = all[0] == 0.0;
      info.max_abs_diff = all[1];
      if (!promises_bits(mode)) info.why = "equal bits are not promised";
      if (all[0] == 0.0 && !has_equal_digests(check)) {
        // Where a mode keeps its state on other ranks, the digests alone see what lies there.
        info.bit_identical = false;
        info.max_abs_diff.reset();
        info.why = "they differ in rows that no rank keeps in both modes";
      }
    } else {
      // A NaN beside a NaN proves nothing.
      info.why = "a value is not finite";
    }
    return info;
  }

  /// True on all ranks but rank 0, which alone has them.
  [[nodiscard]] bool has_equal_digests(const ModelCheck& check) const {
    const auto same = [](const ParamCheck& a, const ParamCheck& b) { return a.digest == b.digest; };
    return std::equal(check.params.begin(), check.params.end(), reference_params_.begin(),
                      reference_params_.end(), same);
  }

  [[nodiscard]] bool promises_bits(const Mode& mode) const {
    const std::vector<std::optional<Home>>* homes = homes_in(mode, run_.inputs);
    const auto is_spread = [](const std::optional<Home>& home) {
      return home && home->spread != NsSpread::kNone;
    };
    if (homes != nullptr && std::any_of(homes->begin(), homes->end(), is_spread)) return false;
    return mode.bits == BitPromise::kAsDuplicated && run_.inputs.ns.algorithm == NsAlgorithm::kGemm &&
           run_.inputs.ns_batch_size == 1;
  }

  void judge(const Mode& mode, const CollectedMode& collected) {
    if (context_.rank.value() != 0) return;
    const auto fault = [&](const std::string& what) {
      outcome_.code = ExitCode::kWrongNumbers;
      outcome_.faults.push_back(text("mode {}: {}", mode.name, what));
    };
    for (const std::string& what : collected.check.faults) fault(what);
    for (std::size_t i = 0; i < collected.check.params.size(); ++i) {
      if (const std::int64_t bad = collected.check.params[i].nonfinite; bad > 0)
        fault(text("parameter {}: {} of {} values are not finite", run_.params.params[i].name, bad,
                   run_.params.params[i].shape.elements().value()));
    }
    const ParityInfo& parity = collected.info.parity;
    if (parity.bit_identical == false && promises_bits(mode)) {
      fault(text("differs from {}, max_abs_diff {}", kReferenceMode,
                 parity.max_abs_diff ? text("{}", *parity.max_abs_diff) : parity.why.value_or("not finite")));
    }
  }

  /// A missed threshold is the measurement's verdict, not its failure: the result is complete.
  void judge_thresholds() {
    if (context_.rank.value() != 0) return;
    for (std::string& line : missed_bounds(run_.config, outcome_.result)) {
      outcome_.code = ExitCode::kThreshold;
      outcome_.faults.push_back(std::move(line));
    }
  }

  void restore_order() {
    const std::vector<std::string>& order = run_.config.modes;
    const auto position = [&](const ModeInfo& info) {
      return std::find(order.begin(), order.end(), info.mode);
    };
    std::sort(outcome_.result.modes.begin(), outcome_.result.modes.end(),
              [&](const ModeInfo& a, const ModeInfo& b) { return position(a) < position(b); });
  }

  void agree_on_code() {
    outcome_.code = static_cast<ExitCode>(
        std::stoi(context_.control.broadcast(text("{}", static_cast<int>(outcome_.code)))));
  }

  const ResolvedRun& run_;
  const Provenance& provenance_;
  RankContext& context_;
  const ResultSink& sink_;
  GeneratedValues values_;
  std::optional<std::vector<MasterRows>> reference_;
  std::vector<ParamCheck> reference_params_;  ///< on rank 0
  SessionOutcome outcome_;
};

}  // namespace

SessionOutcome run_session(const ResolvedRun& run, const Provenance& provenance, RankContext& context,
                           const ResultSink& sink) {
  return Session(run, provenance, context, sink).run();
}

}  // namespace muonbench
