// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "src/plan/homes.h"

namespace muonbench {

/// What adds up at the ranks of a domain from what is at home there. A home without t is at all TP peers of
/// its column, or at all ranks if it is the whole domain.
template <class Amount>
class HomeLoads {
 public:
  explicit HomeLoads(DomainShape domain)
      : domain_(domain), of_rank_(static_cast<std::size_t>(domain.size()), Amount{}) {}

  void add(const Home& home, Amount amount) {
    for (auto load = first(home); load != end(home); ++load) *load += amount;
  }
  /// Of the fullest rank of the home.
  [[nodiscard]] Amount at(const Home& home) { return *std::max_element(first(home), end(home)); }
  /// Of the fullest rank of all.
  [[nodiscard]] Amount most() const { return *std::max_element(of_rank_.begin(), of_rank_.end()); }

 private:
  using Iterator = typename std::vector<Amount>::iterator;
  Iterator first(const Home& home) { return of_rank_.begin() + home.ranks_in(domain_).begin; }
  Iterator end(const Home& home) { return first(home) + home.ranks_in(domain_).count; }

  DomainShape domain_;
  std::vector<Amount> of_rank_;  ///< by index in the domain
};

}  // namespace muonbench
