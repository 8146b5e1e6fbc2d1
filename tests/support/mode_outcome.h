// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/bench/mode_run.h"
#include "src/bench/resolve.h"
#include "src/bench/value_source.h"

namespace muonbench {

/// A configuration of these parameters on one domain: five steps, no warm-up.
[[nodiscard]] RunConfig run_config(const std::vector<Parameter>& params, DomainShape domain);

/// The same configuration on one rank.
[[nodiscard]] RunConfig on_one_rank(RunConfig config);

/// What a mode made of the model, put together from all ranks; the same on every rank.
struct Outcome {
  std::vector<std::vector<float>>
      masters;  ///< full matrices, row-major, by parameter; NaN where no rank keeps an element
  std::vector<std::uint64_t> digests;  ///< by parameter
  std::vector<std::string> faults;     ///< copies that differ, weights that are not their master
  std::int64_t nonfinite = 0;
  std::int64_t adam_bytes = 0, ns_calls = 0, state_bytes = 0;  ///< sums over ranks
};

/// Collective over the ranks of context.control.
[[nodiscard]] Outcome run_on_all_ranks(std::string_view mode, const ResolvedRun& run,
                                       const ValueSource& values, RankContext& context);
[[nodiscard]] Outcome run_on_all_ranks(std::string_view mode, const ResolvedRun& run, RankContext& context);

/// Every rank runs the whole one-rank world by itself. Collective all the same, since steps begin together.
[[nodiscard]] Outcome run_alone(std::string_view mode, const RunConfig& config, RankContext& context);
[[nodiscard]] Outcome run_alone(std::string_view mode, const ResolvedRun& run, const ValueSource& values,
                                RankContext& context);

/// Names of parameters whose bits differ; empty if none.
[[nodiscard]] std::vector<std::string> unequal(const Outcome& a, const Outcome& b, const ParamSet& params);

}  // namespace muonbench
