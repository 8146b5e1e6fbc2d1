// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "tests/conformance/device_conformance.h"
#include "tests/reference/naive_newton_schulz.h"

#include "src/ns/ns_options.h"

namespace muonbench {

/// A matrix on the host.
struct HostMatrix {
  Shape shape;
  std::vector<float> values;
};
[[nodiscard]] HostMatrix random_matrix(Shape shape, unsigned seed);
/// Entries 1 or -1.
[[nodiscard]] HostMatrix random_signs(Shape shape, unsigned seed);
[[nodiscard]] HostMatrix constant_matrix(Shape shape, float value);
[[nodiscard]] HostMatrix times(HostMatrix matrix, float factor);
[[nodiscard]] HostMatrix transposed(const HostMatrix& matrix);

/// The set's schedule, or one step, under `precision` and shape_scaling, which is 1 unless there are more
/// rows than columns.
[[nodiscard]] NsOptions ns_options(std::string_view type, int steps, MatmulPrecision precision);
[[nodiscard]] NsOptions ns_options(NsCoefficients step, MatmulPrecision precision);

/// What the device makes of the matrix. The scratch holds NaN to begin with.
[[nodiscard]] HostMatrix orthogonalized(Device& device, const HostMatrix& in, const NsOptions& options);

/// The oracle's answer, shape_scaling included.
[[nodiscard]] reference::Matrix expected(const HostMatrix& in, const NsOptions& options,
                                         reference::Arithmetic arithmetic);

[[nodiscard]] reference::Matrix as_reference(const HostMatrix& matrix);

}  // namespace muonbench
