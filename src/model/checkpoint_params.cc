// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/model/checkpoint.h"

namespace muonbench {
namespace {

enum class Role { kEmbedding, kPositions, kOutput, kColumn, kRow, kRouter, kLatent, kOther };

/// By the last part of a name before ".weight". The one table; configs/README.md shows it.
constexpr std::pair<std::string_view, Role> kRoles[] = {
    {"embed_tokens", Role::kEmbedding},
    {"wte", Role::kEmbedding},
    {"word_embeddings", Role::kEmbedding},
    {"tok_embeddings", Role::kEmbedding},
    {"embed_in", Role::kEmbedding},
    {"embeddings", Role::kEmbedding},
    {"wpe", Role::kPositions},
    {"embed_positions", Role::kPositions},
    {"position_embeddings", Role::kPositions},
    {"lm_head", Role::kOutput},
    {"output", Role::kOutput},
    {"output_layer", Role::kOutput},
    {"embed_out", Role::kOutput},
    {"head", Role::kOutput},
    {"q_proj", Role::kColumn},
    {"k_proj", Role::kColumn},
    {"v_proj", Role::kColumn},
    {"qkv_proj", Role::kColumn},
    {"query_key_value", Role::kColumn},
    {"linear_qkv", Role::kColumn},
    {"wq", Role::kColumn},
    {"wk", Role::kColumn},
    {"wv", Role::kColumn},
    {"q_b_proj", Role::kColumn},
    {"kv_b_proj", Role::kColumn},
    {"gate_proj", Role::kColumn},
    {"up_proj", Role::kColumn},
    {"gate_up_proj", Role::kColumn},
    {"in_proj", Role::kColumn},
    {"w1", Role::kColumn},
    {"w3", Role::kColumn},
    {"fc1", Role::kColumn},
    {"linear_fc1", Role::kColumn},
    {"dense_h_to_4h", Role::kColumn},
    {"o_proj", Role::kRow},
    {"out_proj", Role::kRow},
    {"wo", Role::kRow},
    {"linear_proj", Role::kRow},
    {"dense", Role::kRow},
    {"down_proj", Role::kRow},
    {"w2", Role::kRow},
    {"fc2", Role::kRow},
    {"linear_fc2", Role::kRow},
    {"dense_4h_to_h", Role::kRow},
    {"gate", Role::kRouter},
    {"router", Role::kRouter},
    {"shared_expert_gate", Role::kRouter},
    {"fc1_latent_proj", Role::kRouter},
    {"fc2_latent_proj", Role::kRouter},
    {"q_a_proj", Role::kLatent},
    {"kv_a_proj", Role::kLatent},
    {"kv_a_proj_with_mqa", Role::kLatent},
};

/// Stored beside weights, but no parameter.
constexpr std::string_view kBuffers[] = {"inv_freq",           "weight_scale_inv", "weight_scale",
                                         "input_scale",        "masked_bias",      "position_ids",
                                         "num_batches_tracked"};

constexpr int kMostLayers = 100'000;

struct Tensor {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::string> parts;  ///< of the name, between its dots, without a last "weight"
};

std::optional<int> number_in(const std::string& part) {
  int number = 0;
  const auto result = std::from_chars(part.data(), part.data() + part.size(), number);
  const bool all = result.ec == std::errc() && result.ptr == part.data() + part.size() && number >= 0;
  return all && !part.empty() ? std::optional(number) : std::nullopt;
}

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (parts.size() > 1 && parts.back() == "weight") parts.pop_back();
  return parts;
}

std::optional<int> layer_of(const Tensor& tensor) {
  for (std::size_t i = 0; i + 1 < tensor.parts.size(); ++i)
    for (const std::string_view head : {"layers", "layer", "h", "blocks", "block"})
      if (tensor.parts[i] == head)
        if (const std::optional<int> layer = number_in(tensor.parts[i + 1]); layer && *layer < kMostLayers)
          return layer;
  return std::nullopt;
}

Role role_of(const Tensor& tensor) {
  const std::string& last = tensor.parts.back();
  // Inside a block "output" is a projection like any other.
  if (last == "output" && layer_of(tensor)) return Role::kOther;
  for (const auto& [name, role] : kRoles)
    if (last == name) return role;
  return Role::kOther;
}

bool is_bias(const Tensor& tensor) { return tensor.parts.back().ends_with("bias"); }

bool is_buffer(const Tensor& tensor) {
  const std::string& last = tensor.parts.back();
  const bool causal_mask = last == "bias" && tensor.shape.size() == 4;
  return causal_mask || std::find(std::begin(kBuffers), std::end(kBuffers), last) != std::end(kBuffers);
}

/// Where the number of an expert stands in the name, or would stand if each had a tensor of its own.
std::optional<std::size_t> expert_part(const Tensor& tensor) {
  for (std::size_t i = 0; i + 1 < tensor.parts.size(); ++i)
    if (tensor.parts[i] == "experts") return i + 1;
  return std::nullopt;
}

void make_vector(ParamConfig& param) {
  std::int64_t elements = 1;
  for (const std::int64_t size : param.shape)
    if (__builtin_mul_overflow(elements, size, &elements))
      throw ConfigError(text(
          "model.safetensors: tensor \"{}\": expected a number of elements that fits 64 bits", param.name));
  param.shape = {elements};
  param.optimizer = "adam";
  param.gtp_remat = false;
}

void give_matrix_its_role(ParamConfig& param, Role role) {
  switch (role) {
    case Role::kEmbedding:
    case Role::kOutput:
      param.optimizer = "adam";
      param.tp_dim = 0;
      return;
    case Role::kPositions: param.optimizer = "adam"; return;
    case Role::kColumn: param.tp_dim = 0; return;
    case Role::kRow: param.tp_dim = 1; return;
    case Role::kRouter: param.gtp_remat = false; return;
    case Role::kLatent:
    case Role::kOther: return;
  }
}

ParamConfig param_of(const Tensor& tensor) {
  ParamConfig param;
  param.name = tensor.name;
  param.shape = tensor.shape;
  if (const std::optional<std::size_t> at = expert_part(tensor)) {
    param.expert = true;
    std::vector<std::string> set = tensor.parts;
    if (number_in(set[*at])) {
      set[*at] = "*";
    } else if (param.shape.size() > 1) {  // one tensor for all experts
      param.repeat = param.shape.front();
      param.shape.erase(param.shape.begin());
    }
    param.expert_set = join(set, ".");
  }
  if (param.shape.size() != 2 || is_bias(tensor))
    make_vector(param);
  else
    give_matrix_its_role(param, role_of(tensor));
  return param;
}

/// "layers.2" before "layers.10".
bool comes_before(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i]) continue;
    const std::optional<int> left = number_in(a[i]), right = number_in(b[i]);
    if (left.has_value() != right.has_value()) return left.has_value();
    if (left && right && *left != *right) return *left < *right;
    return a[i] < b[i];
  }
  return a.size() < b.size();
}

[[noreturn]] void refuse(const std::string& path, const Tensor& tensor, const std::string& message) {
  throw ConfigError(text("model.safetensors: {}: tensor \"{}\": {}", path, tensor.name, message));
}

std::vector<Tensor> read_tensors(std::string_view tensors, const std::string& path) {
  const nlohmann::json json = nlohmann::json::parse(tensors);
  std::vector<Tensor> read;
  for (const auto& [name, summary] : json.items()) {
    Tensor tensor{name, summary.at(0), {}, parts_of(name)};
    for (std::size_t i = 1; i < summary.size(); ++i) tensor.shape.push_back(summary[i]);
    if (is_buffer(tensor)) continue;
    if (!tensor.dtype.starts_with("F") && tensor.dtype != "BF16")
      refuse(path, tensor,
             text("expected a floating-point dtype, got {} (packed weights do not say their shape)",
                  tensor.dtype));
    for (const std::int64_t size : tensor.shape)
      if (size == 0) refuse(path, tensor, "expected sizes of at least 1, got 0");
    read.push_back(std::move(tensor));
  }
  return read;
}

}  // namespace

CheckpointModel checkpoint_model(std::string_view tensors, const std::string& path) {
  const std::vector<Tensor> read = read_tensors(tensors, path);
  if (read.empty()) throw ConfigError(text("model.safetensors: {}: expected parameters, got none", path));
  CheckpointModel model;
  for (const Tensor& tensor : read) model.layers = std::max(model.layers, layer_of(tensor).value_or(-1) + 1);
  std::vector<std::pair<int, const Tensor*>> order;
  for (const Tensor& tensor : read) {
    const Role role = role_of(tensor);
    const bool first = role == Role::kEmbedding || role == Role::kPositions;
    order.emplace_back(layer_of(tensor).value_or(first ? -1 : model.layers), &tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return comes_before(a.second->parts, b.second->parts);
  });
  for (const auto& [layer, tensor] : order) {
    model.params.push_back(param_of(*tensor));
    model.params.back().layer = layer;
  }
  return model;
}

}  // namespace muonbench
