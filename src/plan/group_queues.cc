// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/plan/group_queues.h"

#include <algorithm>
#include <set>

#include "src/base/text.h"

namespace muonbench {
namespace {

/// Axes over which a way of exchange, and sums, have communicators.
std::vector<AxisSet> axes_of(ExchangeWay way, GramSums sums) {
  std::vector<AxisSet> axes;
  if (way == ExchangeWay::kTwoStage || sums == GramSums::kOverAxes)
    axes = {AxisSet{AxisSet::kGtpRemat}, AxisSet{AxisSet::kTp}};
  if (way == ExchangeWay::kFused) axes.push_back(AxisSet{AxisSet::kGtpRemat, AxisSet::kTp});
  return axes;
}

/// The communicators of a group's pipeline; a group of one rank has none.
std::set<GroupKey> communicators(const ParamGroup& group, const RankGrid& grid,
                                 const std::vector<AxisSet>& axes_used) {
  std::set<GroupKey> keys;
  for (const AxisSet axes : axes_used) {
    const GroupKey key = grid.canonical({group.family, axes});
    if (!key.axes.empty()) keys.insert(key);
  }
  return keys;
}

/// Groups that go one after the other, and what they have in common.
struct Line {
  std::vector<std::size_t> groups;
  std::set<GroupKey> communicators;
  std::set<GroupKey> shared;
};

bool meet(const std::set<GroupKey>& a, const std::set<GroupKey>& b) {
  return std::any_of(a.begin(), a.end(), [&](GroupKey key) { return b.contains(key); });
}

/// A group that shares with two lines makes one of them.
std::vector<Line> lines_of(const std::vector<ParamGroup>& groups, const RankGrid& grid,
                           const std::vector<AxisSet>& axes) {
  std::vector<Line> lines;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Line mine{{g}, communicators(groups[g], grid, axes), {}};
    std::vector<Line> apart;
    for (Line& line : lines) {
      if (!meet(line.communicators, mine.communicators)) {
        apart.push_back(std::move(line));
        continue;
      }
      mine.groups.insert(mine.groups.end(), line.groups.begin(), line.groups.end());
      mine.shared.merge(line.shared);
      for (const GroupKey key : line.communicators)
        if (!mine.communicators.insert(key).second) mine.shared.insert(key);
    }
    std::sort(mine.groups.begin(), mine.groups.end());
    apart.push_back(std::move(mine));
    lines = std::move(apart);
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.groups.front() < b.groups.front(); });
  return lines;
}

std::string listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return join(words);
  return join({words.begin(), words.end() - 1}) + " and " + words.back();
}

/// A label may stand for a dense and for an expert group.
std::string name_in(const std::vector<ParamGroup>& groups, std::size_t g) {
  const auto same = std::count_if(groups.begin(), groups.end(),
                                  [&](const ParamGroup& one) { return one.label == groups[g].label; });
  if (same == 1) return groups[g].label;
  return groups[g].label + (groups[g].family == Family::kExpert ? " (expert)" : " (dense)");
}

std::string shared_by(const Line& line, const std::vector<ParamGroup>& groups) {
  std::vector<std::string> names, keys;
  names.reserve(line.groups.size());
  keys.reserve(line.shared.size());
  for (const std::size_t g : line.groups) names.push_back(name_in(groups, g));
  for (const GroupKey key : line.shared) keys.push_back(name_of(key));
  return text("{} share the {} communicator{} and go one after the other", listed(names), listed(keys),
              keys.size() == 1 ? "" : "s");
}

}  // namespace

GroupQueues queue_groups(const std::vector<ParamGroup>& groups, const RankGrid& grid, QueueUse use,
                         const std::string& backend, ExchangeWay way, GramSums sums) {
  GroupQueues queues{std::vector<int>(groups.size(), 0), 1, ""};
  if (groups.size() < 2) {
    queues.why = groups.empty() ? "no param group" : "one param group";
    return queues;
  }
  std::vector<std::string> reasons;
  const std::vector<Line> lines = lines_of(groups, grid, axes_of(way, sums));
  for (const Line& line : lines)
    if (line.groups.size() > 1) reasons.push_back(shared_by(line, groups));
  switch (use) {
    case QueueUse::kSwitchedOff: reasons = {"off by muon.concurrent_groups"}; break;
    case QueueUse::kBackendRunsInTurn:
      reasons.insert(reasons.begin(), text("backend {} runs queues in turn", backend));
      break;
    case QueueUse::kConcurrent:
      if (reasons.empty()) reasons.emplace_back("no two param groups share a communicator");
      queues.count = static_cast<int>(lines.size());
      for (std::size_t q = 0; q < lines.size(); ++q)
        for (const std::size_t g : lines[q].groups) queues.of_group[g] = static_cast<int>(q);
      break;
  }
  queues.why = join(reasons, "; ");
  return queues;
}

}  // namespace muonbench
