// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/optimizer_rules.h"
#include "src/base/shape.h"
#include "src/ns/ns_options.h"

/// Work bound to addresses. Pointers are device addresses, sizes in elements.
namespace muonbench {

struct BoundMomentumItem {
  float* gradient = nullptr;  ///< written under l2 decay only
  float* master = nullptr;    ///< written unless decay_factor is 0
  float* momentum = nullptr;
  float* ns_input = nullptr;  ///< may alias nothing; none: not wanted
  std::int64_t size = 0;
};
struct BoundMomentum {
  MomentumRule rule;
  std::vector<BoundMomentumItem> items;
};

struct BoundTile {
  const void* src = nullptr;
  DType src_dtype = DType::kFp32;
  std::int64_t src_stride = 0;
  void* dst = nullptr;
  DType dst_dtype = DType::kFp32;
  std::int64_t dst_stride = 0;
  Shape shape;
};
struct BoundCopy {
  std::vector<BoundTile> tiles;
};

struct BoundZeroFill {
  std::vector<std::pair<void*, Bytes>> regions;
};

struct BoundNewtonSchulz {
  Shape matrix;
  std::vector<std::pair<const float*, float*>>
      items;                ///< (in, out), (P, Q) fp32 row-major; in == out is allowed
  void* scratch = nullptr;  ///< ns_scratch_elements() elements of options.storage
  NsOptions options;
  NsScaling scaling = NsScaling::kByNs;  ///< kByReceiver: `out` is not multiplied by ns_scale()
};

struct BoundUpdateItem {
  const void* update = nullptr;
  float* master = nullptr;
  void* weight = nullptr;  ///< bf16 copy, or nullptr: the master is the weight
  std::int64_t size = 0;
  DType update_dtype = DType::kFp32;
  NsScale scale = {};  ///< of `update`
};
struct BoundUpdate {
  float lr = 0.0F;
  std::vector<BoundUpdateItem> items;
};

struct BoundAdamItem {
  const float* gradient = nullptr;
  float* master = nullptr;
  void* exp_avg = nullptr;  ///< both moments in the work's moment dtype
  void* exp_avg_sq = nullptr;
  void* weight = nullptr;  ///< bf16 copy, or nullptr
  std::int64_t size = 0;
};
struct BoundAdam {
  AdamRule rule;
  std::vector<BoundAdamItem> items;
  DType moments = DType::kFp32;
};

/// A (rows, cols) array without gaps: element (r, c) becomes scale times the standard normal that belongs to
/// row first_row + r and column first_col + c of `stream` (base/normal.h), rounded to fp32 and then to
/// `dtype`.
struct NormalFill {
  void* out = nullptr;
  DType dtype = DType::kFp32;
  std::int64_t rows = 0, cols = 0;
  std::uint64_t stream = 0;
  std::int64_t first_row = 0, first_col = 0;
  double scale = 1.0;
};

/// What changes from step to step.
struct StepContext {
  std::int64_t step = 0;  ///< from 0; Adam's k is step + 1
};

/// A piece of memory that goes to or comes from one peer.
struct BoundSegment {
  void* data = nullptr;
  std::int64_t size = 0;  ///< elements
};

/// sends[p] goes to group rank p, receives[p] comes from it; the own pair is copied on the device. Empty
/// pairs move nothing: both sides leave them out.
struct BoundAllToAll {
  DType dtype = DType::kFp32;
  std::vector<BoundSegment> sends, receives;
};
/// `send` goes to every other rank, receives[p] comes from p; the own block is copied on the device.
struct BoundAllGather {
  DType dtype = DType::kFp32;
  BoundSegment send;
  std::vector<BoundSegment> receives;
};
/// Sums over all ranks, in place. Each region holds the sum on every rank afterwards, with equal bits
/// everywhere. All ranks have as many regions, of equal sizes. Each addition rounds to `dtype`, or none but
/// the last does.
struct BoundAllReduce {
  std::vector<BoundSegment> regions;
  DType dtype = DType::kFp32;
};
/// fp32 sums over all ranks, in place. items[i][p] holds the sum on group rank p afterwards, and is undefined
/// on the others. Sizes are equal on all ranks, but may differ within an item, whose segments need not touch.
struct BoundReduceScatter {
  std::vector<std::vector<BoundSegment>> items;
};

}  // namespace muonbench
