// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/presets.h"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "src/base/check.h"
#include "src/base/error.h"
#include "src/base/text.h"
#include "src/model/preset_files.h"

namespace muonbench {
namespace {

using Json = nlohmann::json;

PresetMatrix read_matrix(const Json& json) {
  PresetMatrix matrix;
  matrix.name = json.at("name");
  matrix.rows = json.at("shape").at(0);
  matrix.cols = json.at("shape").at(1);
  matrix.optimizer = json.value("optimizer", "muon");
  if (!json.at("tp_dim").is_null()) matrix.tp_dim = json.at("tp_dim").get<int>();
  matrix.gtp_remat = json.value("gtp_remat", true);
  matrix.experts = json.value("experts", std::int64_t{0});
  return matrix;
}

std::vector<PresetMatrix> read_matrices(const Json& json) {
  std::vector<PresetMatrix> matrices;
  matrices.reserve(json.size());
  for (const Json& one : json) matrices.push_back(read_matrix(one));
  return matrices;
}

Preset read_preset(std::string_view content) {
  const Json json = Json::parse(content);
  Preset preset;
  preset.name = json.at("name");
  preset.source = json.at("source");
  preset.before = read_matrices(json.at("before"));
  std::map<std::string, std::vector<PresetMatrix>> kinds;
  for (const auto& [kind, matrices] : json.at("layer_kinds").items()) kinds[kind] = read_matrices(matrices);
  for (const Json& run : json.at("layers"))
    preset.layers.insert(preset.layers.end(), run.at(1).get<std::size_t>(), kinds.at(run.at(0)));
  preset.after = read_matrices(json.at("after"));
  preset.vector_parameters = json.at("vector_parameters");
  preset.parameters = json.at("parameters");
  preset.published_parameters = json.at("published_parameters");
  preset.published_source = json.at("published_source");
  return preset;
}

ParamConfig param_of(const PresetMatrix& matrix, const std::string& name, int layer) {
  ParamConfig param;
  param.name = name;
  param.shape = {matrix.rows, matrix.cols};
  param.optimizer = matrix.optimizer;
  param.tp_dim = matrix.tp_dim;
  param.gtp_remat = matrix.gtp_remat;
  param.layer = layer;
  return param;
}

void append_matrix(std::vector<ParamConfig>& params, const PresetMatrix& matrix, const std::string& name,
                   int layer) {
  params.push_back(param_of(matrix, name, layer));
  if (matrix.experts == 0) return;
  params.back().expert = true;
  params.back().repeat = matrix.experts;
  params.back().expert_set = name;
}

ParamConfig vector_of(std::int64_t elements, int layer) {
  ParamConfig param;
  param.name = text("layers.{}.vectors", layer);
  param.shape = {elements};
  param.optimizer = "adam";
  param.gtp_remat = false;
  param.layer = layer;
  return param;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> read;
    for (const std::string_view content : preset_files()) read.push_back(read_preset(content));
    std::sort(read.begin(), read.end(), [](const Preset& a, const Preset& b) { return a.name < b.name; });
    return read;
  }();
  return all;
}

const Preset& preset_named(std::string_view name, std::string_view key) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw ConfigError(text("{}: expected one of {}, got \"{}\"{}", key, join(names), name,
                         nearest.empty() ? "" : text(", did you mean {}?", nearest)));
}

std::vector<ParamConfig> preset_params(const Preset& preset, std::optional<std::int64_t> layers) {
  const auto all = static_cast<std::int64_t>(preset.layers.size());
  const std::int64_t kept = layers.value_or(all);
  if (kept < 1 || kept > all)
    throw ConfigError(
        text("model.layers: expected 1..{}, as {} has {} layers, got {}", all, preset.name, all, kept));
  std::vector<ParamConfig> params;
  for (const PresetMatrix& matrix : preset.before) append_matrix(params, matrix, matrix.name, -1);
  const std::int64_t each = preset.vector_parameters / all;
  for (int layer = 0; layer < static_cast<int>(kept); ++layer) {
    for (const PresetMatrix& matrix : preset.layers[static_cast<std::size_t>(layer)])
      append_matrix(params, matrix, text("layers.{}.{}", layer, matrix.name), layer);
    const std::int64_t elements = layer + 1 == all ? preset.vector_parameters - each * (all - 1) : each;
    if (elements > 0) params.push_back(vector_of(elements, layer));
  }
  for (const PresetMatrix& matrix : preset.after)
    append_matrix(params, matrix, matrix.name, static_cast<int>(kept));
  return params;
}

}  // namespace muonbench
