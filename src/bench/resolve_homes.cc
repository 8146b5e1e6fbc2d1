// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/resolve_homes.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/plan/oversized.h"
#include "src/plan/waves.h"

namespace muonbench {
namespace {

/// Parameters whose homes are assigned together: one rank's view of a domain, in model order. Ranks of one
/// stage and ep index hold equal lists.
struct Pool {
  DomainShape domain;
  std::vector<ParamIndex> params;

  /// A weight that muon.homes names stays there, whole.
  [[nodiscard]] std::vector<HomeCandidate> candidates(const StepInputs& inputs,
                                                      const MuonConfig& muon) const {
    std::vector<HomeCandidate> found;
    found.reserve(params.size());
    for (const ParamIndex p : params) {
      const std::string& name = inputs.params[p].name;
      found.push_back({name, inputs.specs[p.at()], inputs.splits[p.at()], muon.homes.contains(name)});
    }
    return found;
  }
};

/// By parameter.
using Homes = std::vector<std::optional<Home>>;
using Owners = std::vector<std::optional<int>>;

void store(const Pool& pool, const Homes& found, Homes& homes) {
  for (std::size_t i = 0; i < pool.params.size(); ++i) homes[pool.params[i].at()] = found[i];
}

/// LPT balances a domain over all groups that share it; the other policies count within each group.
enum class Pooling { kAcrossGroups, kPerGroup };

/// `owners` may be empty: all replicas hold equal lists. Else each replica has a list of what it owns.
std::vector<Pool> pools_of(const StepInputs& inputs, const Owners& owners, Pooling pooling) {
  std::map<std::tuple<Family, Residence, std::optional<int>, std::size_t>, Pool> pools;
  for (std::size_t g = 0; g < inputs.groups.size(); ++g) {
    const ParamGroup& group = inputs.groups[g];
    for (const ParamIndex p : group.params) {
      const std::optional<int> owner = owners.empty() ? std::nullopt : owners[p.at()];
      Pool& pool =
          pools[{group.family, inputs.residences[p.at()], owner, pooling == Pooling::kPerGroup ? g : 0}];
      pool.domain = inputs.grid.domain(group.family);
      pool.params.push_back(p);
    }
  }
  std::vector<Pool> found;
  found.reserve(pools.size());
  for (auto& [key, pool] : pools) {
    std::sort(pool.params.begin(), pool.params.end());
    found.push_back(std::move(pool));
  }
  return found;
}

/// Every entry, used or not: a name that is no parameter's, a home outside the parameter's domain.
void refuse_impossible_homes(const MuonConfig& muon, const StepInputs& inputs) {
  std::vector<std::string> names;
  names.reserve(inputs.params.params.size());
  for (const Parameter& param : inputs.params.params) names.push_back(param.name);
  for (const auto& [name, home] : muon.homes) {
    const std::optional<ParamIndex> p = inputs.params.find(name);
    if (!p) {
      const std::string nearest = nearest_name(name, names);
      throw ConfigError(text("muon.homes.{}: no such parameter{}", name,
                             nearest.empty() ? "" : text(", did you mean {}?", nearest)));
    }
    require_home_inside(name, home, inputs.specs[p->at()].domain);
  }
}

Pooling pooling_of(HomePolicy policy) {
  switch (policy) {
    case HomePolicy::kLptNsCost: return Pooling::kAcrossGroups;
    case HomePolicy::kRoundRobin:
    case HomePolicy::kExplicit: break;
  }
  return Pooling::kPerGroup;
}

/// Homes by the policy, all weights whole but those that the candidates say are spread, and names that
/// explicit homes leave out.
ExplicitHomes by_policy(const MuonConfig& muon, DomainShape domain,
                        const std::vector<HomeCandidate>& candidates) {
  switch (muon.home_policy) {
    case HomePolicy::kLptNsCost: return {lpt_homes(candidates, domain, muon.gtp_only_homes), {}};
    case HomePolicy::kRoundRobin: return {round_robin_homes(candidates, domain, muon.gtp_only_homes), {}};
    case HomePolicy::kExplicit: break;
  }
  return explicit_homes(candidates, domain, muon.homes, muon.gtp_only_homes);
}

/// Of all pools.
ExplicitHomes homes_of(const MuonConfig& muon, const StepInputs& inputs, const Owners& owners) {
  ExplicitHomes all{Homes(inputs.params.params.size()), {}};
  for (const Pool& pool : pools_of(inputs, owners, pooling_of(muon.home_policy))) {
    const std::vector<HomeCandidate> candidates = pool.candidates(inputs, muon);
    ExplicitHomes found = by_policy(muon, pool.domain, candidates);
    all.absent.insert(all.absent.end(), found.absent.begin(), found.absent.end());
    if (muon.split_oversized)
      found.homes = spread_oversized(
          candidates, pool.domain, inputs.ns,
          [&](const std::vector<HomeCandidate>& some) { return by_policy(muon, pool.domain, some).homes; });
    store(pool, found.homes, all.homes);
  }
  return all;
}

/// Cuts what each group routes over a domain into waves; by parameter. `owners` as in pools_of.
std::vector<int> waves_of(const StepInputs& inputs, const Homes& homes, const Owners& owners, int waves) {
  std::vector<int> wave_of(inputs.params.params.size());
  for (const Pool& pool : pools_of(inputs, owners, Pooling::kPerGroup)) {
    std::vector<ParamIndex> routed = pool.params;
    std::erase_if(routed, [&](ParamIndex p) { return !homes[p.at()] || !homes[p.at()]->is_routed(); });
    std::vector<WaveCandidate> candidates;
    candidates.reserve(routed.size());
    for (const ParamIndex p : routed)
      candidates.push_back({*homes[p.at()], homes[p.at()]->matrix_of(inputs.specs[p.at()]).elements()});
    const std::vector<int> assigned = assign_waves(candidates, pool.domain, waves);
    for (std::size_t i = 0; i < routed.size(); ++i) wave_of[routed[i].at()] = assigned[i];
  }
  return wave_of;
}

}  // namespace

void assign_homes(const MuonConfig& muon, StepInputs& inputs, std::vector<std::string>& warnings) {
  if (muon.home_policy == HomePolicy::kExplicit) refuse_impossible_homes(muon, inputs);
  const auto [homes, absent] = homes_of(muon, inputs, {});
  inputs.homes = homes;
  OwnedParams& owned = inputs.layer_wise;
  if (!owned.owners.empty()) owned.homes = homes_of(muon, inputs, owned.owners).homes;
  if (!absent.empty()) {
    warnings.push_back(
        text("muon.homes names no home for {} parameters, which go round robin: {}{}", absent.size(),
             join({absent.begin(),
                   absent.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(absent.size(), 5))}),
             absent.size() > 5 ? ", ..." : ""));
  }
}

void send_in_waves(const RunConfig& config, StepInputs& inputs) {
  const int waves = config.muon.exchange_chunks;
  if (waves == 1) return;
  OwnedParams& owned = inputs.layer_wise;
  inputs.travel.wave_of = waves_of(inputs, inputs.homes, {}, waves);
  if (!owned.owners.empty()) owned.wave_of = waves_of(inputs, owned.homes, owned.owners, waves);
  if (config.run.backend == Backend::kCuda) inputs.queues.put_ns_beside();
}

}  // namespace muonbench
