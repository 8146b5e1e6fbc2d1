// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/ns_runner.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "src/ns/coefficients.h"
#include "src/ns/schedule.h"

namespace muonbench {

HostMatrix random_matrix(Shape shape, unsigned seed) {
  return {shape, normal_values(shape.elements().value(), seed)};
}

HostMatrix random_signs(Shape shape, unsigned seed) {
  HostMatrix matrix = random_matrix(shape, seed);
  for (float& value : matrix.values) value = value < 0 ? -1.0F : 1.0F;
  return matrix;
}

HostMatrix constant_matrix(Shape shape, float value) {
  return {shape, std::vector<float>(static_cast<std::size_t>(shape.elements().value()), value)};
}

HostMatrix times(HostMatrix matrix, float factor) {
  for (float& value : matrix.values) value *= factor;
  return matrix;
}

HostMatrix transposed(const HostMatrix& matrix) {
  HostMatrix result{{matrix.shape.cols, matrix.shape.rows}, std::vector<float>(matrix.values.size())};
  for (std::int64_t row = 0; row < matrix.shape.rows; ++row)
    for (std::int64_t col = 0; col < matrix.shape.cols; ++col)
      result.values[static_cast<std::size_t>(col * matrix.shape.rows + row)] =
          matrix.values[static_cast<std::size_t>(row * matrix.shape.cols + col)];
  return result;
}

NsOptions ns_options(std::string_view type, int steps, MatmulPrecision precision) {
  return {
      .steps = resolve_schedule(type, steps), .precision = precision, .scale_mode = ScaleMode::kShapeScaling};
}

NsOptions ns_options(NsCoefficients step, MatmulPrecision precision) {
  return {.steps = {step}, .precision = precision, .scale_mode = ScaleMode::kShapeScaling};
}

HostMatrix orthogonalized(Device& device, const HostMatrix& in, const NsOptions& options) {
  const DeviceArray<float> source(device, in.values);
  const DeviceArray<float> target(device, in.values);
  const DeviceArray<float> scratch = make_scratch(device, in.shape, 1, options.algorithm);
  run_once(device,
           BoundNewtonSchulz{
               in.shape, {{source.data(), target.data()}}, scratch.data(), for_device(device, options)});
  return {in.shape, target.read()};
}

reference::Matrix expected(const HostMatrix& in, const NsOptions& options, reference::Arithmetic arithmetic) {
  std::vector<reference::Polynomial> steps;
  for (const NsCoefficients& step : options.steps) steps.push_back({step.a, step.b, step.c});
  reference::Matrix result = reference::newton_schulz(as_reference(in), steps, arithmetic);
  const double scale =
      std::sqrt(std::max(1.0, static_cast<double>(in.shape.rows) / static_cast<double>(in.shape.cols)));
  for (double& value : result.values) value *= scale;
  return result;
}

reference::Matrix as_reference(const HostMatrix& matrix) {
  return {matrix.shape.rows, matrix.shape.cols, matrix.values};
}

NsOptions for_device(const Device& device, NsOptions options) {
  const Capabilities capabilities = device.capabilities();
  options.storage =
      options.precision == MatmulPrecision::kMedium ? capabilities.medium_storage : DType::kFp32;
  options.batching = capabilities.batching;
  return options;
}

DeviceArray<float> make_scratch(Device& device, Shape shape, int count, NsAlgorithm algorithm) {
  NsOptions options = for_device(device, ns_options("quintic", 5, MatmulPrecision::kHighest));
  options.algorithm = algorithm;
  const auto elements = static_cast<std::size_t>(ns_scratch_elements({shape, count}, options).value());
  return {device, std::vector<float>(elements, std::numeric_limits<float>::quiet_NaN())};
}

std::vector<NsOptions> supported(const Device& device, const NsOptions& options) {
  std::vector<NsOptions> result = {options};
  if (!device.capabilities().syrk) return result;
  result.push_back(options);
  result.back().algorithm = NsAlgorithm::kSyrk;
  return result;
}

}  // namespace muonbench
