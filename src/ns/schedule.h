// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

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

/// Floating point operations of all NS steps on one matrix, one multiply-add counted as 2, m = min, M = max:
/// gemm 4 m^2 M + 2 m^3 a step (4 m^2 M where c == 0); syrk 3 m^2 M + m^3 (3 m^2 M where c == 0).
[[nodiscard]] std::int64_t ns_flops(Shape full, const NsOptions& options);

/// Scratch of a batch, in elements of options.storage: ns_scratch_layout(shape.matrix).total, once for each
/// matrix that is worked on at a time.
[[nodiscard]] Elements ns_scratch_elements(NsShape shape, const NsOptions& options);

/// Where the parts of one matrix's scratch lie, in elements of scratch dtype from its start; m = min dim, M =
/// max dim. x: (P, Q) normalised iterate; next: (P, Q) its successor; gram: (m, m) A; poly: (m, m) B.
struct NsScratchLayout {
  Elements x, next, gram, poly, total;
};
[[nodiscard]] NsScratchLayout ns_scratch_layout(Shape full);

}  // namespace muonbench
