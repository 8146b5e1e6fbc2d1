// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/plan/shard_exchange.h"
#include "src/program/region.h"
#include "src/topology/rank_grid.h"

namespace muonbench {

/// Segment p of `sends` leaves `send` for group rank p and lands in p's `receive` at p's segment for this
/// rank. The own segment is copied locally and is not traffic. An own block that its reader takes from where
/// its writer puts it is no segment: the op does not touch `in_place`, and it may be written and read while
/// the op runs. All ranks of the group run the op, empty segments included.
struct AllToAllOp {
  GroupKey group;
  BufferId send, receive;
  std::vector<Segment> sends, receives;
  Region in_place = {};  ///< counted as the own block
};

/// Every rank's `send` region lands in `receive` on all ranks; segment p of `receives` is group rank p's,
/// whose sizes may differ. Own block: copied locally, sent n - 1 times.
struct AllGatherOp {
  GroupKey group;
  Region send;
  BufferId receive;
  std::vector<Segment> receives;
};

/// Regions become their sums over the group's `ranks`, on each of them, in place; all of one dtype.
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

}  // namespace muonbench
