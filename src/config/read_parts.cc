// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/read_parts.h"

#include <algorithm>
#include <limits>

#include "src/base/check.h"
#include "src/base/text.h"
#include "src/config/key_table.h"

namespace muonbench {
namespace {

constexpr double kFp32Max = std::numeric_limits<float>::max();

/// What key_table says about a key that is read here.
std::string expected_at(const std::string& path) {
  for (const KeyInfo& key : config_keys())
    if (key.path == path) return key.expected;
  return "";
}

bool is_list(const Key& key) { return key.is(JsonNode::Kind::kList); }

std::int64_t read_size(const Key& key) {
  return static_cast<std::int64_t>(key.integer({1, std::numeric_limits<std::int64_t>::max()}));
}

TransformerConfig read_transformer(const Key& key) {
  TransformerConfig dims = read_rows(transformer_keys(), key);
  MUONBENCH_CHECK(dims.heads > 0, "a required key left out");
  if (dims.kv_heads == 0) dims.kv_heads = dims.heads;
  if (dims.heads % dims.kv_heads != 0)
    (key / "kv_heads").reject(text("a divisor of model.transformer.heads ({})", dims.heads));
  if (dims.head_dim == 0) {
    if (dims.hidden % dims.heads != 0)
      (key / "head_dim")
          .reject(text("a value, as heads ({}) does not divide hidden ({})", dims.heads, dims.hidden));
    dims.head_dim = dims.hidden / dims.heads;
  }
  return dims;
}

std::vector<std::int64_t> read_shape(const Key& key) {
  if (!is_list(key) || key.size() < 1 || key.size() > 2) key.reject(expected_at("model.params[].shape"));
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < key.size(); ++i) shape.push_back(read_size(key[i]));
  return shape;
}

std::optional<int> read_tp_dim(const Key& key) {
  if (!key.present() || key.is(JsonNode::Kind::kNull)) return std::nullopt;
  const std::optional<std::uint64_t> dim = key.whole();
  if (!dim || *dim > 1) key.reject(expected_at("model.params[].tp_dim"));
  return static_cast<int>(*dim);
}

std::vector<std::int64_t> read_qkv_split(const Key& key, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> pieces;
  if (!key.present()) return pieces;
  if (!is_list(key)) key.reject(expected_at("model.params[].qkv_split"));
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    pieces.push_back(read_size(key[i]));
    if (shape.size() != 2 || pieces.back() > shape[0] - sum)
      key.reject(text("positive integers whose sum divides dim 0 of a 2-D shape ({})", shape[0]));
    sum += pieces.back();
  }
  if (sum > 0 && shape[0] % sum != 0)
    key.reject(text("positive integers whose sum ({}) divides dim 0 ({})", sum, shape[0]));
  return pieces;
}

std::vector<ParamConfig> read_params(const Key& key, GlobalFill fill) {
  if (!is_list(key) || key.size() == 0) key.reject(expected_at("model.params"));
  std::vector<ParamConfig> params;
  for (std::size_t i = 0; i < key.size(); ++i) {
    ParamConfig param = read_rows(param_keys(), key[i]);
    param.shape = read_shape(key[i] / "shape");
    param.tp_dim = read_tp_dim(key[i] / "tp_dim");
    param.qkv_split = read_qkv_split(key[i] / "qkv_split", param.shape);
    if (param.gradient.empty()) param.gradient = name_in(kGlobalFillNames, fill);
    params.push_back(std::move(param));
  }
  return params;
}

}  // namespace

ModelConfig read_model(const Key& top, GlobalFill fill) {
  const Key key = top / "model";
  const std::vector<std::string> sources = {"preset", "transformer", "safetensors", "params"};
  std::vector<std::string> given;
  for (const std::string& source : sources)
    if ((key / source).present()) given.push_back(source);
  if (given.size() != 1)
    key.reject(text("exactly one of {}", join(sources)),
               given.empty() ? "none of them" : join(given, " and "));
  ModelConfig model;
  if ((key / "transformer").present()) model.transformer = read_transformer(key / "transformer");
  if ((key / "params").present()) model.params = read_params(key / "params", fill);
  return model;
}

std::vector<std::string> read_modes(const Key& top, const ConfigVocabulary& vocabulary) {
  const Key key = top / "modes";
  if (!key.present()) return RunConfig{}.modes;
  WordRule rule{vocabulary.modes, {}};
  for (const std::string& mode : contract_modes())
    if (std::find(rule.allowed.begin(), rule.allowed.end(), mode) == rule.allowed.end())
      rule.later.push_back(mode);
  if (!is_list(key) || key.size() == 0) key.reject(text("a non-empty array, each {}", expected_by(rule)));
  std::vector<std::string> modes;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const std::string mode = key[i].word(rule);
    if (std::find(modes.begin(), modes.end(), mode) != modes.end())
      key[i].reject("each mode once", text("\"{}\" again", mode));
    modes.push_back(mode);
  }
  return modes;
}

std::map<std::string, std::pair<int, int>> read_homes(const Key& top) {
  const Key key = top.at("muon.homes");
  std::map<std::string, std::pair<int, int>> homes;
  if (!key.present()) return homes;
  if (!key.is(JsonNode::Kind::kObject)) key.reject(expected_at("muon.homes"));
  constexpr IntegerRule kIndex = {0, (1U << 20U) - 1};
  for (const std::string& name : key.names()) {
    const Key home = key / name;
    if (!is_list(home) || home.size() != 2) home.reject("[g, t], two integers in 0..1048575");
    homes[name] = {static_cast<int>(home[0].integer(kIndex)), static_cast<int>(home[1].integer(kIndex))};
  }
  return homes;
}

std::vector<NsCoefficients> read_custom_coefficients(const Key& top) {
  const Key key = top.at("muon.custom_coefficients");
  std::vector<NsCoefficients> coefficients;
  if (!key.present()) return coefficients;
  if (!is_list(key)) key.reject(expected_at("muon.custom_coefficients"));
  constexpr NumberRule kAny = {-kFp32Max, kFp32Max};
  for (std::size_t i = 0; i < key.size(); ++i) {
    const Key entry = key[i];
    if (!is_list(entry) || entry.size() != 3) entry.reject("[a, b, c], three numbers");
    coefficients.push_back({entry[0].number(kAny), entry[1].number(kAny), entry[2].number(kAny)});
  }
  return coefficients;
}

std::vector<InjectConfig> read_injections(const Key& top) {
  const Key key = top.at("gradients.inject");
  std::vector<InjectConfig> injections;
  if (!key.present()) return injections;
  if (!is_list(key)) key.reject(expected_at("gradients.inject"));
  for (std::size_t i = 0; i < key.size(); ++i) injections.push_back(read_rows(inject_keys(), key[i]));
  return injections;
}

}  // namespace muonbench
