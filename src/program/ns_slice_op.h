// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/ns/ns_slice.h"
#include "src/program/region.h"

namespace muonbench {

/// One part of NS on this rank's slices of a batch of matrices, all of one shape. What a group adds up
/// between the parts, sums of squares and Gram matrices, are AllReduceOps of their own.
struct NsSliceOp {
  NsPart part = NsPart::kGram;
  int step = 0;                          ///< of the schedule, for kGram and kStep
  NsSlice slice;                         ///< never empty
  Shape matrix{};                        ///< true full: what the scale is of
  std::vector<Region> data;              ///< the input, and then the output, of each matrix: fp32, row-major
  Region sums;                           ///< one fp32 number a matrix
  Region scratch;                        ///< ns_scratch_layout(slice).total elements a matrix
  NsScaling scaling = NsScaling::kByNs;  ///< of kScaleOut; kByReceiver: nothing is multiplied
};

}  // namespace muonbench
