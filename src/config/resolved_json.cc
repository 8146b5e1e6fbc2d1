// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolved_json.h"

#include <nlohmann/json.hpp>

#include "src/config/key_table.h"

namespace muonbench {
namespace {

using Json = nlohmann::ordered_json;

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T* member) const {
    return *member;
  }
  Json operator()(const WordField& field) const { return field.current; }
};

/// The place that a dotted path names; a '/' or '~' never occurs in the tables' paths.
Json::json_pointer pointer(std::string_view path) {
  std::string slashes = "/";
  for (const char c : path) slashes += c == '.' ? '/' : c;
  return Json::json_pointer(slashes);
}

/// Keys of `rows` whose members say it all; T is copied, as fields give access to what they may also set.
template <class T>
Json from_rows(const std::vector<KeyRow<T>>& rows, T values) {
  Json json = Json::object();
  for (const KeyRow<T>& row : rows) {
    const Field field = row.field(values);
    if (!std::holds_alternative<std::monostate>(field)) json[pointer(row.path)] = std::visit(ToJson{}, field);
  }
  return json;
}

Json params_json(const std::vector<ParamConfig>& params) {
  Json list = Json::array();
  for (const ParamConfig& param : params) {
    Json entry = from_rows(param_keys(), param);
    entry["shape"] = param.shape;
    entry["tp_dim"] = param.tp_dim ? Json(*param.tp_dim) : Json(nullptr);
    entry["group"] = param.group ? Json(*param.group) : Json(nullptr);
    entry["qkv_split"] = param.qkv_split;
    list.push_back(std::move(entry));
  }
  return list;
}

Json transformer_json(const TransformerConfig& dims) {
  Json json = from_rows(transformer_keys(), dims);
  if (dims.moe) json["moe"] = from_rows(moe_keys(), *dims.moe);
  if (dims.mla) {
    json["mla"] = from_rows(mla_keys(), *dims.mla);
    json["mla"]["q_rank"] = dims.mla->q_rank > 0 ? Json(dims.mla->q_rank) : Json(nullptr);
  }
  return json;
}

Json model_json(const ModelConfig& model) {
  Json json = Json::object();
  if (model.preset) json["preset"] = *model.preset;
  if (model.layers) json["layers"] = *model.layers;
  if (model.transformer) json["transformer"] = transformer_json(*model.transformer);
  if (model.safetensors) json["safetensors"] = *model.safetensors;
  if (model.params) json["params"] = params_json(*model.params);
  return json;
}

Json require_json(const std::map<std::string, Bounds>& require) {
  Json json = Json::object();
  for (const auto& [name, bounds] : require) {
    if (bounds.min) json[name]["min"] = *bounds.min;
    if (bounds.max) json[name]["max"] = *bounds.max;
  }
  return json;
}

Json homes_json(const MuonConfig& muon) {
  Json homes = Json::object();
  for (const auto& [name, home] : muon.homes) homes[name] = {home.first, home.second};
  return homes;
}

}  // namespace

std::string resolved_json(const RunConfig& config) {
  Json json = from_rows(run_keys(), config);
  json["model"] = model_json(config.model);
  json["modes"] = config.modes;
  json["muon"]["homes"] = homes_json(config.muon);
  json["muon"]["groups"] = Json::object();
  for (const auto& [label, group] : config.muon.groups)
    json["muon"]["groups"][label] = from_rows(group_keys(), group);
  json["muon"]["custom_coefficients"] = Json::array();
  for (const NsCoefficients& step : config.muon.custom_coefficients)
    json["muon"]["custom_coefficients"].push_back({step.a, step.b, step.c});
  json["gradients"]["inject"] = Json::array();
  for (const InjectConfig& injection : config.gradients.inject)
    json["gradients"]["inject"].push_back(from_rows(inject_keys(), injection));
  json["require"] = require_json(config.require);
  // The default of `name` is a file's name, which may be any bytes.
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace muonbench
