// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/ns/ns_options.h"

namespace muonbench::cuda {

/// What the matrices of NS are made of, between its products.
enum class Number { kFp32, kBf16, kFp16 };

/// Under medium bf16, but fp16 under gram: its Gram matrices need more bits, and no more range, for X is
/// normalised.
[[nodiscard]] constexpr Number number_of(const NsOptions& options) {
  if (options.storage == DType::kFp32) return Number::kFp32;
  return options.algorithm == NsAlgorithm::kGram ? Number::kFp16 : Number::kBf16;
}

}  // namespace muonbench::cuda
