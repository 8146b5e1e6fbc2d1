// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/ns/ns_slice.h"

namespace muonbench {

/// One part of NS on the slices that this rank has of a batch of matrices. Between the parts the ranks of a
/// group add up the sums of squares, and the Gram matrices.
struct BoundNsSlice {
  NsPart part = NsPart::kGram;
  /// Of the schedule, for kGram and kStep: X is where kNormalise put it before an even one, and where its
  /// successor lies before an odd one.
  int step = 0;
  NsSlice slice;   ///< not empty
  Shape matrix{};  ///< true full, for the scale
  /// (rows, cols) fp32 row-major of each matrix: what kSumOfSquares and kNormalise read, and kScaleOut
  /// writes.
  std::vector<float*> data;
  float* sums = nullptr;  ///< one a matrix: kSumOfSquares writes them, kNormalise reads them
  /// A scratch for each matrix, ns_scratch_layout(slice).total elements of options.storage apart.
  void* scratch = nullptr;
  NsOptions options;                     ///< gemm or syrk: under gram no Gram matrix is taken at each step
  NsScaling scaling = NsScaling::kByNs;  ///< kByReceiver: what kScaleOut writes is not multiplied
};

}  // namespace muonbench
