// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/emitter.h"

#include <algorithm>

namespace muonbench {
namespace {

Range all_rows(const ParamShardSpec& spec) { return Range{0, spec.shard_shape().rows}; }

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

std::vector<Region> Emitter::in_a_row(Region whole, std::size_t count, Elements each) {
  std::vector<Region> regions;
  regions.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    regions.push_back(part(whole, each * static_cast<std::int64_t>(i), each));
  return regions;
}

Region Emitter::gather_blocks(GroupKey group, Region own, std::string buffer_name, int queue) {
  std::vector<Segment> receives(static_cast<std::size_t>(inputs_.grid.group_size(group)),
                                Segment{Elements(0), own.size});
  const Region gathered =
      transient(std::move(buffer_name), lay_out(receives), DType::kFp32, MemoryUse::kExchange);
  builder_.add(Phase::kGather, queue, AllGatherOp{group, own, gathered.buffer, std::move(receives)});
  return gathered;
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

StateRows Emitter::kept(ParamIndex p, StatePlacement placement) const { return kept_on(rank_, p, placement); }

StateRows Emitter::kept_on(WorldRank rank, ParamIndex p, StatePlacement placement) const {
  const std::optional<int> owner = owner_of(p);
  // Without an owner Adam's state is dealt out over all replicas.
  if (placement == StatePlacement::kAdamByOwnersRows && !owner) placement = StatePlacement::kAdamByRows;
  return state_rows(spec(p), placement, family_of(inputs_.params[p]), inputs_.grid, rank, owner.value_or(0));
}

std::optional<int> Emitter::owner_of(ParamIndex p) const {
  const std::vector<std::optional<int>>& owners = inputs_.layer_wise.owners;
  return owners.empty() ? std::nullopt : owners.at(p.at());
}

bool Emitter::is_owned(ParamIndex p) const {
  return owner_of(p) == inputs_.grid.coordinates(family_of(inputs_.params[p]), rank_).dp;
}

DType Emitter::dtype_of(StateKind kind) const {
  switch (kind) {
    case StateKind::kWeight: return inputs_.param_dtype;
    case StateKind::kExpAvg:
    case StateKind::kExpAvgSq: return inputs_.moment_dtype;
    case StateKind::kMaster:
    case StateKind::kMomentum:
    case StateKind::kGradient: return DType::kFp32;
  }
  return DType::kFp32;
}

Region Emitter::array(ParamIndex p, StateKind kind, Range rows, std::int64_t pads) {
  const StateSlot slot{p, kind, rows, spec(p).shard_shape().cols, pads};
  const DType dtype = dtype_of(kind);
  return builder_.whole(builder_.state(slot, dtype, use_of(kind)));
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
  builder_.expect(held_.size());
  for (const ParamIndex p : held_)
    declare_param(p, inputs_.params[p].optimizer == OptimizerKind::kMuon ? muon : adam);
  reduce_gradients(muon, adam);
}

void Emitter::declare_param(ParamIndex p, StatePlacement placement) {
  const StateRows state = kept(p, placement);
  const bool with_pads = is_with_shard(placement);
  const std::int64_t pads = with_pads && !state.rows.empty() ? pad_rows(p) : 0;
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

}  // namespace muonbench
