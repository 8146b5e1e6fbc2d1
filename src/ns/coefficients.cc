// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/ns/coefficients.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

// Far beyond any use; keeps a mistyped number from becoming an allocation of gigabytes.
constexpr int kMaxSteps = 10000;

constexpr NsCoefficients kSimple = {3.4445, -4.7750, 2.0315};
constexpr NsCoefficients kClassic = {2.0, -1.5, 0.5};

constexpr std::string_view kJordan = "https://kellerjordan.github.io/posts/muon/";
constexpr std::string_view kLeloykun = "https://leloykun.github.io/ponder/muon-opt-coeffs/";
constexpr std::string_view kPolarExpress = "https://arxiv.org/abs/2505.16932";
constexpr std::string_view kCans = "https://arxiv.org/abs/2506.10935";
constexpr std::string_view kTurboMuon = "https://arxiv.org/abs/2512.04632";
constexpr std::string_view kCubic = "https://arxiv.org/abs/2606.00371";
constexpr std::string_view kEmerging =
    "https://github.com/NVIDIA-NeMo/Emerging-Optimizers (coefficient table)";

std::vector<CoefficientSet> make_sets() {
  return {
      {"simple", {kSimple}, EndPolicy::kCycle, kJordan},
      {"quintic",
       {{4.0848, -6.8946, 2.9270},
        {3.9505, -6.3029, 2.6377},
        {3.7418, -5.5913, 2.3037},
        {2.8769, -3.1427, 1.2046},
        {2.8366, -3.0525, 1.2012}},
       EndPolicy::kCycle,
       kLeloykun},
      {"polar_express",
       {{8.2051, -22.9019, 16.4607},
        {4.0664, -2.8612, 0.5184},
        {3.9096, -2.8234, 0.5250},
        {3.2856, -2.4153, 0.4853},
        {2.2779, -1.6198, 0.3985},
        {1.8726, -1.2307, 0.3585},
        {1.8564, -1.2132, 0.3568},
        {1.8750, -1.2500, 0.3750}},
       EndPolicy::kRepeatLast,
       kPolarExpress},
      {"cans",
       {{8.4703, -25.1081, 18.6293},
        {4.1828, -3.1087, 0.5806},
        {3.9619, -2.9541, 0.5630},
        {3.2866, -2.4647, 0.5074},
        {2.2737, -1.6447, 0.4162}},
       EndPolicy::kRepeatLast,
       kCans},
      // Made for another normaliser than the Frobenius norm: with a fifth step, which cycles, signs flip.
      {"aol",
       {{4.0098, -7.0585, 2.4635},
        {3.4585, -5.5479, 2.5959},
        {2.7573, -3.2939, 1.4254},
        {2.7215, -3.0494, 1.3169}},
       EndPolicy::kCycle,
       kTurboMuon},
      {"deepseekv4",
       {kSimple, kSimple, kSimple, kSimple, kSimple, kSimple, kSimple, kSimple, kClassic, kClassic},
       EndPolicy::kRepeatLast,
       kEmerging},
      {"cubic5",
       {{3.3656576, -3.3420992, 0.0},
        {2.5744352, -1.4957376, 0.0},
        {2.5368962, -1.4312570, 0.0},
        {2.4418906, -1.2764040, 0.0},
        {2.2230472, -0.9630650, 0.0}},
       EndPolicy::kExact,
       kCubic},
  };
}

std::vector<std::string> known_types() {
  std::vector<std::string> names;
  for (const CoefficientSet& set : coefficient_sets()) names.emplace_back(set.name);
  names.emplace_back("custom");
  return names;
}

CoefficientSet find_set(std::string_view type, std::span<const NsCoefficients> custom) {
  if (type == "custom") {
    if (custom.empty())
      throw ConfigError(
          "coefficient_type custom: expected at least one entry of custom_coefficients, got none");
    for (const NsCoefficients& entry : custom)
      if (!std::isfinite(entry.a) || !std::isfinite(entry.b) || !std::isfinite(entry.c))
        throw ConfigError(text("coefficient_type custom: expected finite coefficients, got ({}, {}, {})",
                               entry.a, entry.b, entry.c));
    return {"custom", {custom.begin(), custom.end()}, EndPolicy::kCycle, "the user's own"};
  }
  const std::vector<CoefficientSet>& sets = coefficient_sets();
  const auto found =
      std::find_if(sets.begin(), sets.end(), [type](const CoefficientSet& set) { return set.name == type; });
  if (found == sets.end()) {
    const std::string nearest = nearest_name(type, known_types());
    throw ConfigError(text("coefficient_type: expected one of {}, got '{}'{}", join(known_types()), type,
                           nearest.empty() ? "" : text(", did you mean {}?", nearest)));
  }
  if (!custom.empty())
    throw ConfigError(text(
        "coefficient_type {}: expected no custom_coefficients (they belong to type custom), got {} entries",
        type, custom.size()));
  return *found;
}

NsCoefficients entry_of_step(const CoefficientSet& set, std::size_t step) {
  switch (set.end_policy) {
    case EndPolicy::kRepeatLast: return set.entries[std::min(step, set.entries.size() - 1)];
    case EndPolicy::kCycle: return set.entries[step % set.entries.size()];
    case EndPolicy::kExact: return set.entries[step];
  }
  return {};
}

}  // namespace

const std::vector<CoefficientSet>& coefficient_sets() {
  static const std::vector<CoefficientSet> sets = make_sets();
  return sets;
}

std::vector<NsCoefficients> resolve_schedule(std::string_view type, int num_steps,
                                             std::span<const NsCoefficients> custom) {
  const CoefficientSet set = find_set(type, custom);
  if (num_steps < 1 || num_steps > kMaxSteps)
    throw ConfigError(text("num_ns_steps: expected 1 to {}, got {}", kMaxSteps, num_steps));
  const auto count = static_cast<std::size_t>(num_steps);
  if (set.end_policy == EndPolicy::kExact && count != set.entries.size())
    throw ConfigError(text("num_ns_steps: expected exactly {} with coefficient_type {}, got {}",
                           set.entries.size(), set.name, num_steps));
  std::vector<NsCoefficients> schedule;
  schedule.reserve(count);
  for (std::size_t step = 0; step < count; ++step) schedule.push_back(entry_of_step(set, step));
  return schedule;
}

}  // namespace muonbench
