// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/emitter.h"

#include <algorithm>
#include <map>
#include <utility>

namespace muonbench {
namespace {

Range all_rows(const ParamShardSpec& spec) { return Range{0, spec.shard_shape().rows}; }

/// Rows of a region whose first row is row 0 of the shard.
Region rows_of(Region shard, Range rows, std::int64_t cols) {
  return Emitter::part(shard, Elements(rows.begin * cols), Elements(rows.count * cols));
}

Elements dealt_elements(std::int64_t rows, std::int64_t cols, int ranks, std::size_t rank) {
  return Elements(deal_rows(rows, ranks, GroupRank(static_cast<int>(rank))).count * cols);
}

MemoryUse use_of(StateKind kind) {
  switch (kind) {
    case StateKind::kWeight: return MemoryUse::kWeights;
    case StateKind::kMaster: return MemoryUse::kMaster;
    case StateKind::kMomentum: return MemoryUse::kMomentum;
    case StateKind::kExpAvg:
    case StateKind::kExpAvgSq: return MemoryUse::kAdam;
    case StateKind::kGradient: return MemoryUse::kGradient;
  }
  return MemoryUse::kWeights;
}

}  // namespace

Emitter::Emitter(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder)
    : inputs_(inputs),
      rank_(rank),
      builder_(builder),
      dense_place_(inputs.grid.coordinates(Family::kDense, rank).place),
      expert_place_(inputs.grid.coordinates(Family::kExpert, rank).place),
      is_held_(inputs.params.params.size()) {
  const Coordinates dense = inputs.grid.coordinates(Family::kDense, rank);
  const Coordinates expert = inputs.grid.coordinates(Family::kExpert, rank);
  for (int i = 0; i < inputs.params.size(); ++i) {
    const ParamIndex p(i);
    const Coordinates& at = inputs.params[p].expert ? expert : dense;
    is_held_[p.at()] = muonbench::is_held(inputs.params[p], inputs.residences[p.at()], at);
    if (is_held_[p.at()]) held_.push_back(p);
  }
}

ParamGroup Emitter::held_part(const ParamGroup& group) const {
  ParamGroup held{group.label, group.family, group.rule, {}};
  for (const ParamIndex p : group.params)
    if (is_held(p)) held.params.push_back(p);
  return held;
}

std::int64_t Emitter::pad_rows(ParamIndex p) const {
  return spec(p).extent(place(family_of(inputs_.params[p]))).pad_rows;
}

StateRows Emitter::kept(ParamIndex p, StatePlacement placement) const {
  return state_rows(spec(p), placement, family_of(inputs_.params[p]), inputs_.grid, rank_);
}

Region Emitter::array(ParamIndex p, StateKind kind, Range rows, std::int64_t pads) {
  const StateSlot slot{p, kind, rows, spec(p).shard_shape().cols, pads};
  const DType dtype = kind == StateKind::kWeight ? inputs_.param_dtype : DType::kFp32;
  return builder_.whole(builder_.state(slot, dtype, use_of(kind), name(p)));
}

Region Emitter::weight(ParamIndex p) { return array(p, StateKind::kWeight, all_rows(spec(p)), pad_rows(p)); }
Region Emitter::gradient(ParamIndex p) {
  return array(p, StateKind::kGradient, all_rows(spec(p)), pad_rows(p));
}

Region Emitter::master(ParamIndex p, Range rows, std::int64_t pads) {
  if (inputs_.param_dtype == DType::kFp32) return rows_of(weight(p), rows, spec(p).shard_shape().cols);
  return array(p, StateKind::kMaster, rows, pads);
}

std::optional<Region> Emitter::weight_copy(ParamIndex p, Range rows) {
  if (inputs_.param_dtype == DType::kFp32) return std::nullopt;
  return rows_of(weight(p), rows, spec(p).shard_shape().cols);
}

void Emitter::declare(StatePlacement muon, StatePlacement adam) {
  for (const ParamIndex p : held_)
    declare_param(p, inputs_.params[p].optimizer == OptimizerKind::kMuon ? muon : adam);
  reduce_gradients(muon, adam);
}

void Emitter::declare_param(ParamIndex p, StatePlacement placement) {
  const StateRows state = kept(p, placement);
  const bool with_pads = placement == StatePlacement::kWithShard;
  const std::int64_t pads = with_pads ? pad_rows(p) : 0;
  const Range true_rows{state.rows.begin, state.rows.count - pads};
  const std::int64_t cols = spec(p).shard_shape().cols;
  const Region held = master(p, state.rows, pads);
  builder_.keep({p, true_rows, cols, part(held, Elements(0), Elements(true_rows.count * cols)), weight(p),
                 state.counts ? Counted::kHere : Counted::kElsewhere});
  // Without a gradient nothing is ever accumulated: no moments, as the optimizer makes them at the first
  // gradient.
  if (!inputs_.params[p].has_gradient()) return;
  static_cast<void>(gradient(p));
  if (with_pads) {
    static_cast<void>(array(p, StateKind::kMomentum, state.rows, pads));
  } else {
    static_cast<void>(array(p, StateKind::kExpAvg, state.rows, pads));
    static_cast<void>(array(p, StateKind::kExpAvgSq, state.rows, pads));
  }
}

MomentumItem Emitter::momentum_item(ParamIndex p, std::optional<Region> ns_input) {
  const Range rows = all_rows(spec(p));
  return MomentumItem{gradient(p), master(p, rows, pad_rows(p)),
                      array(p, StateKind::kMomentum, rows, pad_rows(p)), ns_input};
}

UpdateItem Emitter::update_item(ParamIndex p, Region update) {
  const Range rows = all_rows(spec(p));
  return UpdateItem{update, master(p, rows, pad_rows(p)), weight_copy(p, rows)};
}

std::vector<ParamIndex> Emitter::with_gradient() const {
  std::vector<ParamIndex> found;
  for (const ParamIndex p : held_)
    if (inputs_.params[p].has_gradient()) found.push_back(p);
  return found;
}

std::vector<ParamIndex> Emitter::with_gradient(OptimizerKind kind) const {
  std::vector<ParamIndex> found = with_gradient();
  std::erase_if(found, [&](ParamIndex p) { return inputs_.params[p].optimizer != kind; });
  return found;
}

void Emitter::adam(const std::vector<ParamIndex>& params, StatePlacement placement, int queue) {
  AdamOp op{inputs_.adam, {}};
  std::map<GroupKey, std::vector<ParamIndex>> gathers;
  for (const ParamIndex p : params) {
    const StateRows state = kept(p, placement);
    if (!state.group.axes.empty()) gathers[state.group].push_back(p);
    if (state.rows.empty()) continue;
    op.items.push_back(AdamItem{rows_of(gradient(p), state.rows, spec(p).shard_shape().cols),
                                master(p, state.rows, 0), array(p, StateKind::kExpAvg, state.rows, 0),
                                array(p, StateKind::kExpAvgSq, state.rows, 0), weight_copy(p, state.rows)});
  }
  if (!op.items.empty()) builder_.add(Phase::kAdam, queue, std::move(op));
  for (const auto& [group, members] : gathers) param_gather(group, members, queue);
}

void Emitter::param_gather(GroupKey group, const std::vector<ParamIndex>& params, int queue) {
  const int size = inputs_.grid.group_size(group);
  const auto me = static_cast<std::size_t>(inputs_.grid.index_in_group(group, rank_).value());

  // All ranks of the group hold the same rows, which are dealt out among them.
  struct Held {
    Region shard;
    std::int64_t true_rows, cols;
  };
  std::vector<Held> held;
  held.reserve(params.size());
  for (const ParamIndex p : params)
    held.push_back({weight(p), spec(p).extent(place(group.family)).rows.count, spec(p).shard_shape().cols});

  // Received blocks by rank, each rank's rows of all parameters in list order.
  std::vector<Segment> blocks(static_cast<std::size_t>(size));
  for (const Held& one : held)
    for (std::size_t r = 0; r < blocks.size(); ++r)
      blocks[r].size += dealt_elements(one.true_rows, one.cols, size, r);
  Elements total;
  for (Segment& block : blocks) {
    block.offset = total;
    total += block.size;
  }
  if (total == Elements(0)) return;  // all pads: the same on every rank of the group

  const BufferId send =
      builder_.add_transient("param_gather.send", blocks[me].size, inputs_.param_dtype, MemoryUse::kExchange);
  const BufferId receive =
      builder_.add_transient("param_gather.receive", total, inputs_.param_dtype, MemoryUse::kExchange);
  CopyOp pack, unpack;
  unpack.tiles.reserve(held.size() * blocks.size());
  std::vector<Elements> filled(blocks.size());  // of each block
  for (const Held& one : held) {
    for (std::size_t r = 0; r < blocks.size(); ++r) {
      const Range rows = deal_rows(one.true_rows, size, GroupRank(static_cast<int>(r)));
      if (rows.empty()) break;  // nor do the ranks behind have any
      const Region there = rows_of(one.shard, rows, one.cols);
      const Shape shape{rows.count, one.cols};
      if (r == me)
        pack.tiles.push_back({there.buffer, there.offset, one.cols, send, filled[r], one.cols, shape});
      else
        unpack.tiles.push_back(
            {receive, blocks[r].offset + filled[r], one.cols, there.buffer, there.offset, one.cols, shape});
      filled[r] += shape.elements();
    }
  }
  if (!pack.tiles.empty()) builder_.add(Phase::kParamGather, queue, std::move(pack));
  builder_.add(Phase::kParamGather, queue, AllGatherOp{group, builder_.whole(send), receive, blocks});
  if (!unpack.tiles.empty()) builder_.add(Phase::kParamGather, queue, std::move(unpack));
}

}  // namespace muonbench
