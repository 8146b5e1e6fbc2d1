// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/waves.h"

#include <algorithm>
#include <utility>

#include "src/base/stable_order.h"
#include "src/plan/home_loads.h"

namespace muonbench {
namespace {

/// What a wave brings so far: to each rank of the domain, and altogether.
struct WaveLoad {
  HomeLoads<Elements> at_home;
  Elements total = {};
};

/// Numbers without a gap, in order.
void close_up(std::vector<int>& waves) {
  std::vector<int> used = waves;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (int& wave : waves)
    wave = static_cast<int>(std::lower_bound(used.begin(), used.end(), wave) - used.begin());
}

}  // namespace

std::vector<int> assign_waves(const std::vector<WaveCandidate>& candidates, DomainShape domain, int waves) {
  const std::vector<std::size_t> order = stable_order(candidates.size(), [&](std::size_t a, std::size_t b) {
    return candidates[a].elements > candidates[b].elements;
  });
  const std::size_t most = std::min(static_cast<std::size_t>(waves), candidates.size());
  std::vector<WaveLoad> loads(most, WaveLoad{HomeLoads<Elements>(domain)});
  std::vector<int> assigned(candidates.size());
  for (const std::size_t i : order) {
    const auto& [home, elements] = candidates[i];
    const auto least = std::min_element(loads.begin(), loads.end(), [&home = home](WaveLoad& a, WaveLoad& b) {
      return std::pair(a.at_home.at(home), a.total) < std::pair(b.at_home.at(home), b.total);
    });
    least->at_home.add(home, elements);
    least->total += elements;
    assigned[i] = static_cast<int>(least - loads.begin());
  }
  close_up(assigned);
  return assigned;
}

}  // namespace muonbench
