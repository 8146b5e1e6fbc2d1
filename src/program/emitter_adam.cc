// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "src/program/emitter.h"
#include "src/program/tiles.h"

namespace muonbench {

void Emitter::adam(const std::vector<ParamIndex>& params, StatePlacement placement, int queue) {
  adam_update(params, placement, queue);
  param_gathers(params, placement, placement, queue);
}

void Emitter::adam_update(const std::vector<ParamIndex>& params, StatePlacement placement, int queue) {
  AdamOp op{inputs_.adam, {}, inputs_.moment_dtype};
  for (const ParamIndex p : params) {
    const StateRows state = kept(p, placement);
    if (state.rows.empty()) continue;
    op.items.push_back(AdamItem{rows_of(gradient(p), state.rows, spec(p).shard_shape().cols),
                                master(p, state.rows, 0), array(p, StateKind::kExpAvg, state.rows, 0),
                                array(p, StateKind::kExpAvgSq, state.rows, 0), weight_copy(p, state.rows)});
  }
  if (!op.items.empty()) builder_.add(Phase::kAdam, queue, std::move(op));
}

void Emitter::param_gathers(const std::vector<ParamIndex>& params, StatePlacement muon, StatePlacement adam,
                            int queue) {
  std::map<GroupKey, std::vector<Gathered>> gathers;
  for (const ParamIndex p : params) {
    const StateRows state = kept(p, inputs_.params[p].optimizer == OptimizerKind::kMuon ? muon : adam);
    if (!state.group.axes.empty()) gathers[state.group].push_back({p, state.span});
  }
  for (const auto& [group, members] : gathers) param_gather(group, members, queue);
}

void Emitter::param_gather(GroupKey group, const std::vector<Gathered>& params, int queue) {
  const int size = inputs_.grid.group_size(group);
  const auto me = static_cast<std::size_t>(inputs_.grid.index_in_group(group, rank_).value());

  // All ranks of the group hold the same rows, each updated by one of them.
  struct Held {
    Region shard;
    std::int64_t true_rows, cols;
    GroupSpan span;
    [[nodiscard]] Range rows_at(std::size_t r) const {
      return deal_rows(true_rows, span, GroupRank(static_cast<int>(r)));
    }
    [[nodiscard]] std::size_t first() const { return static_cast<std::size_t>(span.first); }
    [[nodiscard]] std::size_t end() const { return static_cast<std::size_t>(span.end()); }
  };
  std::vector<Held> held;
  held.reserve(params.size());
  for (const auto& [p, span] : params)
    held.push_back(
        {weight(p), spec(p).extent(place(group.family)).rows.count, spec(p).shard_shape().cols, span});

  // Received blocks by rank, each rank's rows of all parameters in list order.
  std::vector<Segment> blocks(static_cast<std::size_t>(size));
  for (const Held& one : held) {
    for (std::size_t r = one.first(); r < one.end(); ++r)
      blocks[r].size += Elements(one.rows_at(r).count * one.cols);
  }
  const Elements total = lay_out(blocks);
  if (total == Elements(0)) return;  // all pads: the same on every rank of the group

  const BufferId send =
      builder_.add_transient("param_gather.send", blocks[me].size, inputs_.param_dtype, MemoryUse::kExchange);
  const BufferId receive =
      builder_.add_transient("param_gather.receive", total, inputs_.param_dtype, MemoryUse::kExchange);
  CopyOp pack, unpack;
  std::vector<Elements> filled(blocks.size());  // of each block
  for (const Held& one : held) {
    for (std::size_t r = one.first(); r < one.end(); ++r) {
      const Range rows = one.rows_at(r);
      if (rows.empty()) break;  // nor do the ranks behind have any
      const Region there = rows_of(one.shard, rows, one.cols);
      if (r == me)
        add_region_tile(pack.tiles, there, {send, filled[r], there.size});
      else
        add_next_row(unpack.tiles, {receive, blocks[r].offset + filled[r], there.size}, there);
      filled[r] += there.size;
    }
  }
  if (!pack.tiles.empty()) builder_.add(Phase::kParamGather, queue, std::move(pack));
  builder_.add(Phase::kParamGather, queue, AllGatherOp{group, builder_.whole(send), receive, blocks});
  if (!unpack.tiles.empty()) builder_.add(Phase::kParamGather, queue, std::move(unpack));
}

}  // namespace muonbench
