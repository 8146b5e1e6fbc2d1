// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/waves.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace muonbench {
namespace {

/// What a wave brings so far: to each rank (g, t) of the domain, and altogether.
class WaveLoad {
 public:
  explicit WaveLoad(DomainShape domain)
      : domain_(domain), of_rank_(static_cast<std::size_t>(domain.size())) {}

  [[nodiscard]] Elements total() const { return total_; }
  [[nodiscard]] Elements at(const Home& home) const {
    Elements most;
    for (int t = 0; t < domain_.tp; ++t)
      if (home.is_at({home.g, TpRank(t)})) most = std::max(most, of_rank_[index(home, t)]);
    return most;
  }
  void add(const WaveCandidate& candidate) {
    total_ += candidate.elements;
    for (int t = 0; t < domain_.tp; ++t)
      if (candidate.home.is_at({candidate.home.g, TpRank(t)}))
        of_rank_[index(candidate.home, t)] += candidate.elements;
  }

 private:
  [[nodiscard]] std::size_t index(const Home& home, int t) const {
    const int rank = home.g.value() * domain_.tp + t;
    return static_cast<std::size_t>(rank);
  }

  DomainShape domain_;
  std::vector<Elements> of_rank_;
  Elements total_;
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
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return candidates[a].elements > candidates[b].elements;
  });
  const std::size_t most = std::min(static_cast<std::size_t>(waves), candidates.size());
  std::vector<WaveLoad> loads(most, WaveLoad(domain));
  std::vector<int> assigned(candidates.size());
  for (const std::size_t i : order) {
    const Home& home = candidates[i].home;
    const auto least =
        std::min_element(loads.begin(), loads.end(), [&](const WaveLoad& a, const WaveLoad& b) {
          return std::pair(a.at(home), a.total()) < std::pair(b.at(home), b.total());
        });
    least->add(candidates[i]);
    assigned[i] = static_cast<int>(least - loads.begin());
  }
  close_up(assigned);
  return assigned;
}

}  // namespace muonbench
