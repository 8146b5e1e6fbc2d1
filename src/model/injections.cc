// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/model/build_params.h"

namespace muonbench {
namespace {

ParamIndex param_of(const InjectConfig& config, const std::string& place, const ParamSet& params) {
  const std::optional<ParamIndex> found = params.find(config.param);
  if (found) return *found;
  std::vector<std::string> names;
  for (const Parameter& param : params.params) names.push_back(param.name);
  const std::string nearest = nearest_name(config.param, names);
  throw ConfigError(text("{}.param: expected the name of a parameter of the model, got \"{}\"{}", place,
                         config.param, nearest.empty() ? "" : text(", did you mean {}?", nearest)));
}

float value_of(const InjectConfig& config, const std::string& place) {
  if (config.value == "nan") return std::numeric_limits<float>::quiet_NaN();
  if (config.value == "inf") return std::numeric_limits<float>::infinity();
  if (config.value == "-inf") return -std::numeric_limits<float>::infinity();
  throw ConfigError(text("{}.value: expected one of nan, inf, -inf, got \"{}\"", place, config.value));
}

void require_inside(const std::string& key, std::int64_t index, std::int64_t size, const Parameter& param) {
  if (index < 0 || index >= size)
    throw ConfigError(text("{}: expected an index in 0..{}, as {} is {} x {}, got {}", key, size - 1,
                           param.name, param.shape.rows, param.shape.cols, index));
}

GradientInjection injection_of(const InjectConfig& config, const std::string& place, const ParamSet& params) {
  const ParamIndex index = param_of(config, place, params);
  const Parameter& param = params[index];
  if (!param.has_gradient())
    throw ConfigError(
        text("{}.param: expected a parameter with a gradient, got \"{}\", whose gradient is none", place,
             param.name));
  require_inside(place + ".row", config.row, param.shape.rows, param);
  require_inside(place + ".column", config.column, param.shape.cols, param);
  return {index, config.step, config.row, config.column, value_of(config, place)};
}

}  // namespace

std::vector<GradientInjection> resolve_injections(const GradientsConfig& gradients, const ParamSet& params) {
  std::vector<GradientInjection> injections;
  for (std::size_t i = 0; i < gradients.inject.size(); ++i)
    injections.push_back(injection_of(gradients.inject[i], text("gradients.inject[{}]", i), params));
  return injections;
}

}  // namespace muonbench
