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

/// `options` with the storage and batching of the device.
[[nodiscard]] NsOptions for_device(const Device& device, NsOptions options);

/// Memory for the scratch of `count` matrices, full of NaN.
[[nodiscard]] DeviceArray<float> make_scratch(Device& device, Shape shape, int count,
                                              NsAlgorithm algorithm = NsAlgorithm::kGemm);

/// `options` as they are, and with algorithm syrk where the device has it: the same products of the same
/// numbers.
[[nodiscard]] std::vector<NsOptions> supported(const Device& device, const NsOptions& options);

/// Wide, tall, square, thin and degenerate.
inline const std::vector<Shape> kNsShapes = {{24, 40}, {40, 24}, {16, 16}, {33, 7},  {7, 33},
                                             {1, 8},   {8, 1},   {1, 1},   {96, 200}};

/// With entries of 1 and -1 and a power of 4 of them the norm is a power of two, every product is a small
/// integer over one, and fp32 sums them exactly in any order: a wrong triangle, transpose or leading
/// dimension cannot hide in a tolerance.
inline const std::vector<Shape> kExactNsShapes = {{8, 32},  {32, 8},  {16, 16}, {1, 64},  {64, 1},
                                                  {16, 64}, {64, 16}, {1, 1},   {4, 4096}};

/// Bound of the relative error under precision highest. fp32 has 6e-8 of precision; steps whose slopes
/// multiply to some hundreds at the smallest singular values, and sums of tens of terms, leave a few 1e-6.
inline constexpr double kFp32Error = 2e-5;

}  // namespace muonbench
