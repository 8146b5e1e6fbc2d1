// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/memory_use.h"
#include "src/base/optimizer_rules.h"
#include "src/base/shape.h"
#include "src/ns/ns_options.h"
#include "src/program/collective_op.h"
#include "src/program/ns_slice_op.h"
#include "src/program/phase.h"
#include "src/program/region.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// One parameter's part of the fused decay + momentum + nesterov pass. All regions have one size. `ns_input`
/// may lie in an exchange buffer, so that no packing pass is needed; none: a peer's equal shard goes to NS.
struct MomentumItem {
  Region gradient, master, momentum;
  std::optional<Region> ns_input;
};
struct MomentumOp {
  MomentumRule rule;
  std::vector<MomentumItem> items;
};

/// A (rows x cols) block, row-major on both sides, strides in elements; converts between the buffers' dtypes.
struct Tile {
  BufferId src;
  Elements src_offset;
  std::int64_t src_stride = 0;
  BufferId dst;
  Elements dst_offset;
  std::int64_t dst_stride = 0;
  Shape shape;
};
/// Tiles are disjoint on the destination side and copied in any order.
struct CopyOp {
  std::vector<Tile> tiles;
};

struct ZeroFillOp {
  std::vector<Region> regions;
};

/// NS on matrices of one shape: out = NS(in), times both factors of ns_scale() unless `scaling` leaves that
/// to receivers. in and out: (P, Q) fp32, row-major; may be the same region. `scratch` serves the matrices
/// one after the other.
struct NewtonSchulzItem {
  Region in, out;
};
struct NewtonSchulzOp {
  Shape matrix;
  std::vector<NewtonSchulzItem> items;
  Region scratch;
  NsScaling scaling = NsScaling::kByNs;
};

/// p <- p + (-lr) * update in fp32 on the master copy, and its rounding to the weight's dtype. Where weights
/// are fp32 the master is the weight itself, and `weight` is empty. `update`, fp32 or bf16, is multiplied by
/// both factors of `scale` first.
struct UpdateItem {
  Region update, master;
  std::optional<Region> weight;
  NsScale scale = {};
};
struct UpdateOp {
  float lr = 0.0F;
  std::vector<UpdateItem> items;
};

struct AdamItem {
  Region gradient, master, exp_avg, exp_avg_sq;
  std::optional<Region> weight;
};
struct AdamOp {
  AdamRule rule;
  std::vector<AdamItem> items;
  DType moments = DType::kFp32;  ///< of exp_avg and exp_avg_sq
};

using Work = std::variant<MomentumOp, CopyOp, ZeroFillOp, AllToAllOp, AllGatherOp, AllReduceOp,
                          ReduceScatterOp, NewtonSchulzOp, NsSliceOp, UpdateOp, AdamOp>;

/// One thing to do. `after` is filled in by StepProgram's builder from what the ops read and write.
struct Op {
  Phase phase = Phase::kMomentum;
  int queue = 0;           ///< in-order work; ops of different queues may overlap
  std::vector<int> after;  ///< indices of earlier ops that must be complete, nearest last
  Work work;
};

/// Buffers that an op reads and writes; a buffer may stand in both. What it leaves alone, but others may use
/// while it runs, is `beside` it: not to lie where the op's own buffers do.
struct Access {
  std::vector<BufferId> reads, writes, beside;
};
[[nodiscard]] Access access_of(const Work& work);
[[nodiscard]] inline Access access_of(const Op& op) { return access_of(op.work); }

/// Whether it is NS, whole or a part.
[[nodiscard]] inline bool runs_ns(const Op& op) {
  return std::holds_alternative<NewtonSchulzOp>(op.work) || std::holds_alternative<NsSliceOp>(op.work);
}

/// The process group of a collective, or none for local work.
[[nodiscard]] std::optional<GroupKey> group_of(const Op& op);

}  // namespace muonbench
