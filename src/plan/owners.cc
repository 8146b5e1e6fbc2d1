// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/owners.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/base/check.h"
#include "src/base/stable_order.h"
#include "src/plan/homes.h"
#include "src/plan/param_groups.h"
#include "src/plan/ping_pong.h"

namespace muonbench {
namespace {

/// Most of an even share that lpt_ns_cost fills a replica with, as upstream has it.
constexpr double kMemoryCap = 1.3;

/// Indices of the candidates, the largest by `key` first.
template <class Key>
std::vector<std::size_t> descending(const std::vector<OwnedCandidate>& candidates, Key key) {
  return stable_order(candidates.size(),
                      [&](std::size_t a, std::size_t b) { return key(candidates[a]) > key(candidates[b]); });
}

/// Replicas by load, the lowest first on ties.
class Loads {
 public:
  explicit Loads(int replicas) : load_(static_cast<std::size_t>(replicas), 0) {
    for (int r = 0; r < replicas; ++r) order_.emplace(0, r);
  }
  [[nodiscard]] std::int64_t of(int replica) const { return load_[static_cast<std::size_t>(replica)]; }
  [[nodiscard]] int least() const { return order_.begin()->second; }
  /// The least loaded of those that `fits` accepts.
  template <class Fits>
  [[nodiscard]] std::optional<int> least_of(Fits fits) const {
    const auto found =
        std::find_if(order_.begin(), order_.end(), [&](const auto& one) { return fits(one.second); });
    return found == order_.end() ? std::nullopt : std::optional(found->second);
  }
  void add(int replica, std::int64_t amount) {
    std::int64_t& load = load_[static_cast<std::size_t>(replica)];
    order_.erase({load, replica});
    load += amount;
    order_.emplace(load, replica);
  }

 private:
  std::vector<std::int64_t> load_;
  std::set<std::pair<std::int64_t, int>> order_;
};

std::vector<int> deal_in_turn(const std::vector<OwnedCandidate>& candidates, int replicas) {
  std::vector<Elements> sizes;
  sizes.reserve(candidates.size());
  for (const OwnedCandidate& candidate : candidates) sizes.push_back(candidate.size);
  std::vector<int> owners;
  owners.reserve(candidates.size());
  for (const GroupRank rank : ping_pong(sizes, replicas)) owners.push_back(rank.value());
  return owners;
}

std::vector<int> deal_by_size(const std::vector<OwnedCandidate>& candidates, int replicas) {
  std::vector<int> owners(candidates.size());
  Loads elements(replicas);
  for (const std::size_t i : descending(candidates, [](const OwnedCandidate& c) { return c.size; })) {
    owners[i] = elements.least();
    elements.add(owners[i], candidates[i].size.value());
  }
  return owners;
}

std::vector<int> deal_by_cost(const std::vector<OwnedCandidate>& candidates, int replicas) {
  std::int64_t total = 0;
  for (const OwnedCandidate& candidate : candidates) total += candidate.size.value();
  const double most = kMemoryCap * static_cast<double>(total) / replicas;
  std::vector<int> owners(candidates.size());
  Loads costs(replicas), elements(replicas);
  for (const std::size_t i : descending(candidates, [](const OwnedCandidate& c) { return c.cost; })) {
    const std::int64_t size = candidates[i].size.value();
    const auto fits = [&](int replica) { return static_cast<double>(elements.of(replica) + size) <= most; };
    // Where it does not fit where there is most room, it fits nowhere.
    const std::optional<int> cheapest = fits(elements.least()) ? costs.least_of(fits) : std::nullopt;
    owners[i] = cheapest.value_or(elements.least());
    costs.add(owners[i], candidates[i].cost);
    elements.add(owners[i], size);
  }
  return owners;
}

OwnedCandidate candidate_of(const OwnedModel& model, ParamIndex p) {
  const Parameter& param = model.params[p];
  const ParamShardSpec& spec = model.specs[p.at()];
  OwnedCandidate candidate{spec.shard_elements(), 0};
  if (!param.has_gradient()) return candidate;
  switch (param.optimizer) {
    case OptimizerKind::kMuon:
      candidate.cost = HomeCandidate{param.name, spec, model.splits[p.at()]}.ns_cost();
      break;
    case OptimizerKind::kAdam: candidate.cost = spec.full_shape.elements().value(); break;
  }
  return candidate;
}

}  // namespace

std::vector<int> deal_to_owners(const std::vector<OwnedCandidate>& candidates, int replicas,
                                OwnerPolicy policy) {
  MUONBENCH_CHECK(replicas > 0, "{} replicas", replicas);
  switch (policy) {
    case OwnerPolicy::kPingPong: return deal_in_turn(candidates, replicas);
    case OwnerPolicy::kLptNumel: return deal_by_size(candidates, replicas);
    case OwnerPolicy::kLptNsCost: return deal_by_cost(candidates, replicas);
  }
  return {};
}

std::vector<std::optional<int>> assign_owners(const OwnedModel& model, OwnerPolicy policy,
                                              LayerWiseAdam adam) {
  std::map<std::pair<Family, Residence>, std::vector<ParamIndex>> pools;
  for (int i = 0; i < model.params.size(); ++i) {
    const ParamIndex p(i);
    const Parameter& param = model.params[p];
    if (param.optimizer == OptimizerKind::kAdam && adam == LayerWiseAdam::kDim0) continue;
    pools[{family_of(param), model.residences[p.at()]}].push_back(p);
  }
  std::vector<std::optional<int>> owners(model.params.params.size());
  for (const auto& [key, pool] : pools) {
    std::vector<OwnedCandidate> candidates;
    candidates.reserve(pool.size());
    for (const ParamIndex p : pool) candidates.push_back(candidate_of(model, p));
    const std::vector<int> dealt = deal_to_owners(candidates, model.grid.data_parallel(key.first), policy);
    for (std::size_t i = 0; i < pool.size(); ++i) owners[pool[i].at()] = dealt[i];
  }
  return owners;
}

}  // namespace muonbench
