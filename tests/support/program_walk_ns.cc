// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// What a walk asks of NS.
#include <algorithm>
#include <map>
#include <numeric>

#include "tests/support/program_walk.h"

#include "src/base/text.h"
#include "src/ns/schedule.h"

namespace muonbench {

std::int64_t ProgramWalk::columns(ParamIndex p) const {
  return ns_on_ == NsOn::kShards ? oracles_[p.at()].shard().col : model_.params()[p].shape.cols;
}

NsScale ProgramWalk::scale_of(ParamIndex p, Id id) const {
  const Parameter& param = model_.params()[p];
  const std::vector<std::int64_t>& split = param.qkv_split;
  if (split.empty()) return ns_scale(param.shape, model_.inputs().ns);
  const std::int64_t group = std::accumulate(split.begin(), split.end(), std::int64_t{0});
  std::int64_t row = (id - first_id_[p.at()]) / param.shape.cols % group;
  std::size_t piece = 0;
  for (; row >= split[piece]; ++piece) row -= split[piece];
  return ns_scale({param.shape.rows / group * split[piece], param.shape.cols}, model_.inputs().ns);
}

std::vector<std::vector<Id>> ProgramWalk::matrices(WorldRank r, ParamIndex p) const {
  const Parameter& param = model_.params()[p];
  const reference::Cell shard = oracles_[p.at()].shard();
  std::vector<Id> ids;
  switch (ns_on_) {
    case NsOn::kFullMatrices:
      for (std::int64_t i = 0; i < param.shape.elements().value(); ++i) ids.push_back(first_id_[p.at()] + i);
      break;
    case NsOn::kShards:
      for (std::int64_t i = 0; i < shard.row * shard.col; ++i)
        if (const Id id = shard_id(r, p, i / shard.col, i % shard.col); id != kZero) ids.push_back(id);
      break;
  }
  // By the piece of its query group that an element's row in the full matrix belongs to.
  std::map<std::int64_t, std::vector<Id>> by_piece;
  for (const Id id : ids) {
    std::int64_t piece = 0;
    if (!param.qkv_split.empty()) {
      const std::int64_t group =
          std::accumulate(param.qkv_split.begin(), param.qkv_split.end(), std::int64_t{0});
      std::int64_t row = (id - first_id_[p.at()]) / param.shape.cols % group;
      for (; row >= param.qkv_split[static_cast<std::size_t>(piece)]; ++piece)
        row -= param.qkv_split[static_cast<std::size_t>(piece)];
    }
    by_piece[piece].push_back(id);
  }
  std::vector<std::vector<Id>> found;
  for (auto& [piece, rows] : by_piece) found.push_back(std::move(rows));
  return found;
}

ParamIndex ProgramWalk::param_of(Id id) const {
  const auto next = std::upper_bound(first_id_.begin(), first_id_.end(), id);
  require(next != first_id_.begin() && next != first_id_.end(),
          text("{} is no element of any parameter", id));
  return ParamIndex(static_cast<int>(next - first_id_.begin()) - 1);
}

void ProgramWalk::apply(WorldRank r, const NewtonSchulzOp& op) {
  const std::int64_t size = op.matrix.rows * op.matrix.cols;
  // Whatever lies there is gone, as for a matrix under the scratch.
  const RankMemory::View scratch = memory(r).view(op.scratch);
  const NsShape batch{op.matrix, static_cast<int>(op.items.size())};
  require(Elements(scratch.size()) >= ns_scratch_elements(batch, model_.inputs().ns),
          text("scratch of {} elements", scratch.size()));
  for (std::int64_t i = 0; i < scratch.size(); ++i) scratch.set(i, kGarbage);
  for (const NewtonSchulzItem& item : op.items) {
    const RankMemory::View in = memory(r).view(item.in), out = memory(r).view(item.out);
    require(in.size() == size && out.size() == size, "a matrix of another size than its shape");
    const ParamIndex p = param_of(in.get(0));
    const std::string& name = model_.params()[p].name;
    const auto wanted = matrices(r, p);
    const auto matrix = std::find_if(wanted.begin(), wanted.end(),
                                     [&](const std::vector<Id>& ids) { return ids.front() == in.get(0); });
    require(matrix != wanted.end(), text("{}: no matrix begins with element {}", name, in.get(0)));
    require(static_cast<std::int64_t>(matrix->size()) == size, text("{} in the shape of another", name));
    for (std::int64_t i = 0; i < size; ++i) {
      const Id expected = (*matrix)[static_cast<std::size_t>(i)];
      if (in.get(i) != expected)
        throw WalkError(text("{}: element {} is {}, expected {}", name, i, in.get(i), expected));
      out.set(i, expected + (op.scaling == NsScaling::kByReceiver ? kUnscaled : kDone));
    }
    require(op.matrix.cols == columns(p), text("{} in the shape of another", name));
    ++ns_runs_[index(r)][p.at()];
  }
}

}  // namespace muonbench
