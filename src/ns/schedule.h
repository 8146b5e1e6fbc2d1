// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/shape.h"
#include "src/ns/ns_options.h"

namespace muonbench {

/// Factor of ScaleMode on the true full shape, without extra_scale_factor: computed in double, rounded once
/// to fp32. The update is O * scale_factor, rounded, then * extra_scale_factor, rounded: two fp32
/// multiplications in all modes.
[[nodiscard]] float scale_factor(ScaleMode mode, Shape full);

/// Both factors of a matrix.
[[nodiscard]] NsScale ns_scale(Shape full, const NsOptions& options);

/// Cost by which homes are balanced: max(P,Q) * min(P,Q)^2 of the true full shape.
[[nodiscard]] std::int64_t ns_cost(Shape full);

/// Steps [first, first + count) on one Gram matrix of X.
struct NsStretch {
  int first = 0, count = 1;
  friend bool operator==(const NsStretch&, const NsStretch&) = default;
};

/// All steps in order; not under auto. gemm and syrk take a Gram matrix for each. gram goes on from R = X X^T
/// by itself: with Z = b R + c R R, Q <- a Q + Z Q (from the identity), R <- (a + Z) R (a + Z), and in the
/// end X <- Q X. What rounding does to R grows with the squares of a, so it restarts from X: after at most 3
/// steps in 16 bits, 5 in fp32, as evenly as can be (Dao-AILab's Gram Newton-Schulz restarts after 2 of 5).
[[nodiscard]] std::vector<NsStretch> ns_stretches(const NsOptions& options);

/// Floating point operations of all NS steps on one matrix, one multiply-add counted as 2, m = min, M = max:
/// gemm 4 m^2 M + 2 m^3 a step (4 m^2 M where c == 0); syrk 3 m^2 M + m^3 (3 m^2 M where c == 0); gram, of a
/// stretch of n > 1 steps, 3 m^2 M + (4 n - 3) m^3 (m^3 less for each c == 0), and of one step as syrk;
/// auto as what it stands for of a matrix alone (resolved).
[[nodiscard]] std::int64_t ns_flops(Shape full, const NsOptions& options);

/// Scratch of a batch, in elements of options.storage: ns_scratch_layout().total, once for each matrix that
/// is worked on at a time.
[[nodiscard]] Elements ns_scratch_elements(NsShape shape, const NsOptions& options);

/// Where the parts of one matrix's scratch lie, in elements of scratch dtype from its start; m = min dim, M =
/// max dim. x: (P, Q) normalised iterate; next: (P, Q) its successor; gram: (m, m) A; poly: (m, m) B; under
/// gram two more (m, m), which are empty otherwise.
struct NsScratchLayout {
  Elements x, next, gram, poly, product, spare, total;
};
[[nodiscard]] NsScratchLayout ns_scratch_layout(Shape full, NsAlgorithm algorithm = NsAlgorithm::kGemm);

}  // namespace muonbench
