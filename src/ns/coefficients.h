// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ns/ns_options.h"

namespace muonbench {

/// What happens when more steps are asked for than the set has entries.
enum class EndPolicy {
  kCycle,       ///< start again with the first entry
  kRepeatLast,  ///< go on with the last entry
  kExact,       ///< the set has a meaning only at its own length
};

/// A named polynomial schedule.
struct CoefficientSet {
  std::string_view name;
  std::vector<NsCoefficients> entries;
  EndPolicy end_policy = EndPolicy::kCycle;
  std::string_view source;
};

/// THE table: every named set. "custom" is not in it, it is the user's own list with EndPolicy::kCycle.
[[nodiscard]] const std::vector<CoefficientSet>& coefficient_sets();

/// The `num_steps` polynomials that run: a prefix of the set, or its continuation by end policy.
/// `custom` is used for type "custom" only, and must be empty for all other types.
/// Throws ConfigError: unknown type (message lists the known ones), num_steps < 1, an exact set at another
/// length, custom without entries. The message says what was expected and got; the caller adds the key.
[[nodiscard]] std::vector<NsCoefficients> resolve_schedule(std::string_view type, int num_steps,
                                                           std::span<const NsCoefficients> custom = {});

}  // namespace muonbench
