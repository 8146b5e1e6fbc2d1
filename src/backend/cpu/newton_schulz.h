// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/backend.h"

namespace muonbench::cpu {

/// NS by BLAS products, one matrix after the other, so that a batch has the bits of its matrices taken alone.
/// A matrix with more rows than columns is iterated from the right, X <- a X + X B with A = X^T X, so that A
/// is always square on the short side and nothing is transposed. The norm is taken in double: any finite fp32
/// matrix has one. A matrix with a non-finite element gives NaN throughout, never a silent update of zeros;
/// an all-zero matrix gives zeros. Precision medium: operands hold bf16 values in fp32 storage, products
/// accumulate in fp32. Refuses (RuntimeFailure): precision high, algorithm auto, a dimension beyond the int
/// of BLAS.
[[nodiscard]] std::unique_ptr<Kernel> prepare_newton_schulz(BoundNewtonSchulz work);

/// A part of NS on slices, by the same products, never by gram; the norm is that of sums rounded to fp32,
/// since they travel.
[[nodiscard]] std::unique_ptr<Kernel> prepare_ns_slice(BoundNsSlice work);

}  // namespace muonbench::cpu
