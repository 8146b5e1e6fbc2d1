// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/program/modes.h"
#include "src/program/program.h"

namespace muonbench {

/// What all emitters share for one rank: where a parameter's arrays are, and the passes that every mode has.
class Emitter {
 public:
  Emitter(const StepInputs& inputs, WorldRank rank, ProgramBuilder& builder);

  [[nodiscard]] const StepInputs& inputs() const { return inputs_; }
  [[nodiscard]] ProgramBuilder& builder() { return builder_; }
  [[nodiscard]] const ParamShardSpec& spec(ParamIndex p) const { return inputs_.specs[p.at()]; }
  [[nodiscard]] const std::string& name(ParamIndex p) const { return inputs_.params[p].name; }
  [[nodiscard]] bool is_held(ParamIndex p) const { return is_held_[p.at()]; }
  /// True if this rank's replica owns the parameter.
  [[nodiscard]] bool is_owned(ParamIndex p) const;
  /// The group as this rank knows it: the parameters that it holds.
  [[nodiscard]] ParamGroup held_part(const ParamGroup& group) const;
  [[nodiscard]] DomainPlace place(Family family) const {
    return family == Family::kDense ? dense_place_ : expert_place_;
  }

  /// A new transient buffer, all of it.
  [[nodiscard]] Region transient(std::string buffer_name, Elements size, DType dtype, MemoryUse use) {
    return builder_.whole(builder_.add_transient(std::move(buffer_name), size, dtype, use));
  }
  /// An all_gather of equal blocks over one axis, in phase gather: all ranks' blocks in group order.
  [[nodiscard]] Region gather_blocks(GroupKey group, Region own, std::string buffer_name, int queue);

  /// This rank in one of its process groups.
  [[nodiscard]] GroupRank index_in(GroupKey group) const { return inputs_.grid.index_in_group(group, rank_); }

  /// Creates the arrays that this rank holds of every parameter: weight, master and, if it has a gradient,
  /// gradient and moments. The placements say for which rows state of Muon's and of Adam's parameters is
  /// kept, and so whether replicas need the sum of a gradient whole or each its rows of it, before the step.
  void declare(StatePlacement muon, StatePlacement adam);

  /// Muon items over the whole shard, pads included.
  [[nodiscard]] MomentumItem momentum_item(ParamIndex p, std::optional<Region> ns_input);
  [[nodiscard]] UpdateItem update_item(ParamIndex p, Region update);
  /// Of an update that NS has left unscaled: an item for each stretch of rows that met NS together.
  [[nodiscard]] std::vector<UpdateItem> unscaled_update_items(ParamIndex p, Region update);

  /// What NS runs on: a matrix in a region, or the pieces of its rows, each by itself; no pieces: all rows
  /// together.
  struct Matrix {
    Shape shape;
    Region data;
    std::vector<RowPiece> pieces = {};
  };
  [[nodiscard]] Matrix full_matrix(ParamIndex p, Region data) const;
  /// The true rows of this rank's shard, which may be none.
  [[nodiscard]] Matrix shard_matrix(ParamIndex p, Region shard) const;

  /// NS in place, in batches of `batch_size` in list order: matrices that are shaped and taken apart alike,
  /// in order of first appearance. The pieces of a batch are copied out and back; equal ones go together, at
  /// most `batch_size` at a time. `queue` and `phase` as for ops.
  void newton_schulz(const std::vector<Matrix>& matrices, int batch_size, Phase phase, int queue,
                     NsScaling scaling = NsScaling::kByNs);

  /// Adam on the given parameters' state rows, then their gathers.
  void adam(const std::vector<ParamIndex>& params, StatePlacement placement, int queue);
  void adam_update(const std::vector<ParamIndex>& params, StatePlacement placement, int queue);
  /// One param_gather per group of ranks that hold equal rows but update different ones; placements as for
  /// declare().
  void param_gathers(const std::vector<ParamIndex>& params, StatePlacement muon, StatePlacement adam,
                     int queue);
  [[nodiscard]] std::vector<ParamIndex> with_gradient(OptimizerKind kind) const;
  [[nodiscard]] std::vector<ParamIndex> with_gradient() const;

  /// Rows of a region whose first row is row 0 of the shard.
  [[nodiscard]] static Region rows_of(Region shard, Range rows, std::int64_t cols) {
    return part(shard, Elements(rows.begin * cols), Elements(rows.count * cols));
  }
  /// `count` regions of `each` elements, one after the other from the start of `whole`.
  [[nodiscard]] static std::vector<Region> in_a_row(Region whole, std::size_t count, Elements each);
  /// Consecutive sub-region.
  [[nodiscard]] static Region part(Region whole, Elements offset, Elements size) {
    return Region{whole.buffer, whole.offset + offset, size};
  }

 private:
  void newton_schulz_batch(const std::vector<Matrix>& batch, Phase phase, int queue, NsScaling scaling);
  [[nodiscard]] Matrix matrix(ParamIndex p, Range rows, std::int64_t cols, Region data) const;
  void declare_param(ParamIndex p, StatePlacement placement);
  void reduce_gradients(StatePlacement muon, StatePlacement adam);
  [[nodiscard]] ReduceScatterItem rows_by_replica(ParamIndex p, GroupKey replicas, StatePlacement placement);
  [[nodiscard]] Region array(ParamIndex p, StateKind kind, Range rows, std::int64_t pad_rows);
  [[nodiscard]] Region weight(ParamIndex p);
  [[nodiscard]] Region gradient(ParamIndex p);
  [[nodiscard]] Region master(ParamIndex p, Range rows, std::int64_t pad_rows);
  [[nodiscard]] std::optional<Region> weight_copy(ParamIndex p, Range rows);
  [[nodiscard]] DType dtype_of(StateKind kind) const;
  [[nodiscard]] std::optional<int> owner_of(ParamIndex p) const;
  [[nodiscard]] StateRows kept(ParamIndex p, StatePlacement placement) const;
  [[nodiscard]] StateRows kept_on(WorldRank rank, ParamIndex p, StatePlacement placement) const;
  [[nodiscard]] std::int64_t pad_rows(ParamIndex p) const;
  /// A parameter and the ranks of a group among which its true rows were dealt out.
  struct Gathered {
    ParamIndex param;
    GroupSpan span;
  };
  void param_gather(GroupKey group, const std::vector<Gathered>& params, int queue);

  const StepInputs& inputs_;
  WorldRank rank_;
  ProgramBuilder& builder_;
  DomainPlace dense_place_, expert_place_;
  std::vector<bool> is_held_;     ///< per parameter of the model
  std::vector<ParamIndex> held_;  ///< ascending
};

}  // namespace muonbench
