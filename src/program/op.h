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
#include "src/plan/shard_exchange.h"
#include "src/program/phase.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Index of a buffer in its program.
struct BufferId {
  int index = -1;
  friend auto operator<=>(BufferId, BufferId) = default;
};

/// Consecutive elements of one buffer.
struct Region {
  BufferId buffer;
  Elements offset;
  Elements size;
  friend auto operator<=>(const Region&, const Region&) = default;
};

/// Part of the fused momentum pass. All regions have one size; `ns_input` may lie in an exchange buffer.
struct MomentumItem {
  Region gradient, master, momentum, ns_input;
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

/// Segment p of `sends` leaves `send` for group rank p and lands in p's `receive` at p's segment for this
/// rank. The own segment is copied locally and is not traffic. All ranks of the group run the op, empty
/// segments included.
struct AllToAllOp {
  GroupKey group;
  BufferId send, receive;
  std::vector<Segment> sends, receives;
};

/// Every rank's `send` region lands in `receive` on all ranks; segment p of `receives` is group rank p's,
/// whose sizes may differ. Own block: copied locally, sent n - 1 times.
struct AllGatherOp {
  GroupKey group;
  Region send;
  BufferId receive;
  std::vector<Segment> receives;
};

/// Regions become their sums over the group's `ranks`, on each of them; fp32, in place.
struct AllReduceOp {
  GroupKey group;
  int ranks = 1;
  std::vector<Region> regions;
};

/// Segment p of an item becomes its sum over the group on group rank p, and undefined elsewhere; fp32.
struct ReduceScatterItem {
  BufferId buffer;
  std::vector<Segment> segments;
};
struct ReduceScatterOp {
  GroupKey group;
  std::vector<ReduceScatterItem> items;
};

/// NS on matrices of one shape: out = NS(in) * scale_factor * extra_scale_factor. in and out: (P, Q) fp32,
/// row-major; may be the same region. `scratch` serves the matrices one after the other.
struct NewtonSchulzItem {
  Region in, out;
};
struct NewtonSchulzOp {
  Shape matrix;
  std::vector<NewtonSchulzItem> items;
  Region scratch;
};

/// p <- p + (-lr) * update in fp32 on the master copy, and its rounding to the weight's dtype. Where weights
/// are fp32 the master is the weight itself, and `weight` is empty.
struct UpdateItem {
  Region update, master;
  std::optional<Region> weight;
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
                          ReduceScatterOp, NewtonSchulzOp, UpdateOp, AdamOp>;

/// One thing to do. `after` is filled in by StepProgram's builder from what the ops read and write.
struct Op {
  Phase phase = Phase::kMomentum;
  int queue = 0;           ///< in-order work; ops of different queues may overlap
  std::vector<int> after;  ///< indices of earlier ops that must be complete, nearest last
  Work work;
};

/// Buffers that an op reads and writes; a buffer may stand in both.
struct Access {
  std::vector<BufferId> reads, writes;
};
[[nodiscard]] Access access_of(const Op& op);

/// The process group of a collective, or none for local work.
[[nodiscard]] std::optional<GroupKey> group_of(const Op& op);

}  // namespace muonbench
