// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/plan/homes.h"

namespace muonbench {

/// A routed parameter of one domain's list.
struct WaveCandidate {
  Home home;
  Elements elements;  ///< of what each rank of the home puts together
};

/// Cuts a list into at most `waves` waves, which travel one after the other, so that every home gets about as
/// much in each of them: the largest first (stable), each to the wave that brings its home the fewest
/// elements so far (the fullest rank of a home column), ties to the wave with the fewest altogether, then to
/// the first. The waves are numbered from 0 without a gap: those that would be empty, as with more waves than
/// parameters, are left out. Every rank of the domain finds the same from the same list.
[[nodiscard]] std::vector<int> assign_waves(const std::vector<WaveCandidate>& candidates, DomainShape domain,
                                            int waves);

}  // namespace muonbench
