// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/model/build_params.h"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/model/checkpoint.h"
#include "src/model/presets.h"
#include "src/model/transformer.h"

namespace muonbench {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
/// A bf16 weight, and in fp32 its gradient, master copy and two moments.
constexpr std::int64_t kMostBytesPerElement = 18;
constexpr std::int64_t kMostParams = 1'000'000;

/// One entry of the model and where it stands: "model.params[3]", or "model.transformer: embedding".
struct Entry {
  const ParamConfig& config;
  std::string place;
};

std::string shape_text(const ParamConfig& config) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : config.shape) sizes.push_back(text("{}", size));
  return text("[{}]", join(sizes));
}

OptimizerKind optimizer_of(const Entry& entry) {
  if (entry.config.optimizer == "muon") return OptimizerKind::kMuon;
  if (entry.config.optimizer == "adam") return OptimizerKind::kAdam;
  throw ConfigError(
      text("{}.optimizer: expected one of muon, adam, got \"{}\"", entry.place, entry.config.optimizer));
}

GradientFill fill_of(const Entry& entry, GlobalFill otherwise) {
  const std::string word = entry.config.gradient.empty() ? std::string(name_in(kGlobalFillNames, otherwise))
                                                         : entry.config.gradient;
  if (word == "random") return GradientFill::kRandom;
  if (word == "ones") return GradientFill::kOnes;
  if (word == "zeros") return GradientFill::kZeros;
  if (word == "none") return GradientFill::kNone;
  throw ConfigError(
      text("{}.gradient: expected one of random, ones, zeros, none, got \"{}\"", entry.place, word));
}

void require_legal_shape(const Entry& entry, OptimizerKind optimizer) {
  const ParamConfig& config = entry.config;
  const std::size_t dims = config.shape.size();
  if (dims != 1 && dims != 2)
    throw ConfigError(text("{}.shape: expected one or two sizes, got {}", entry.place, shape_text(config)));
  if (optimizer == OptimizerKind::kMuon && dims != 2)
    throw ConfigError(
        text("{}.shape: expected two sizes, as the optimizer of {} is muon (adam takes one too), got {}",
             entry.place, config.name, shape_text(config)));
  if (dims == 1 && config.tp_dim == 1)
    throw ConfigError(
        text("{}.tp_dim: expected 0 or null, as {} has one dimension, got 1", entry.place, config.name));
  std::int64_t elements = 1;
  for (const std::int64_t size : config.shape)
    if (size < 1 || __builtin_mul_overflow(elements, size, &elements) ||
        elements > kInt64Max / kMostBytesPerElement)
      throw ConfigError(
          text("{}.shape: expected sizes of at least 1 whose product, {} bytes each, fits a signed 64-bit "
               "number, got {}",
               entry.place, kMostBytesPerElement, shape_text(config)));
}

double gradient_scale(const Entry& entry, double global_scale) {
  const double scale = entry.config.gradient_scale * global_scale;
  constexpr double kFp32Max = std::numeric_limits<float>::max();
  if (!(std::abs(scale) <= kFp32Max))
    throw ConfigError(
        text("{}.gradient_scale: expected a finite fp32 number after times gradients.scale ({}), got {}",
             entry.place, global_scale, entry.config.gradient_scale));
  return scale;
}

/// Entries of model.params are dealt together if they are equally large, wherever they stand.
std::string expert_set_of(const ParamConfig& config) {
  if (!config.expert_set.empty()) return config.expert_set;
  std::vector<std::string> sizes;
  for (const std::int64_t size : config.shape) sizes.push_back(text("{}", size));
  return text("shape {}", join(sizes, " x "));
}

Parameter parameter_of(const Entry& entry, const GradientsConfig& gradients) {
  const ParamConfig& config = entry.config;
  Parameter param;
  param.optimizer = optimizer_of(entry);
  require_legal_shape(entry, param.optimizer);
  param.dims = static_cast<int>(config.shape.size());
  param.shape = {config.shape[0], param.dims == 2 ? config.shape[1] : 1};
  param.tp_dim = config.tp_dim;
  param.gtp_remat = config.gtp_remat;
  param.expert = config.expert;
  param.group = config.group.value_or(config.expert ? "expert" : "dense");
  param.layer = config.layer;
  param.stage = config.stage;
  if (config.expert) param.expert_set = expert_set_of(config);
  param.gradient = fill_of(entry, gradients.fill);
  param.gradient_scale = gradient_scale(entry, gradients.scale);
  param.qkv_split = config.qkv_split;
  return param;
}

/// Grows the list by one entry at a time and keeps the sums that must fit.
class Builder {
 public:
  explicit Builder(const GradientsConfig& gradients) : gradients_(gradients) {}

  void add(const Entry& entry) {
    Parameter param = parameter_of(entry, gradients_);
    const std::int64_t copies = entry.config.repeat;
    if (copies < 1 || copies > kMostParams - set_.size())
      throw ConfigError(text("{}: expected at most {} parameters in a model, got {} more after {}",
                             entry.place, kMostParams, copies, set_.size()));
    add_bytes(entry, param, copies);
    for (std::int64_t i = 0; i < copies; ++i) {
      param.name = copies == 1 ? entry.config.name : text("{}.{}", entry.config.name, i);
      param.value_key = Fingerprint().add(param.name).value();
      const auto [first, is_new] = places_.emplace(param.name, entry.place);
      if (!is_new)
        throw ConfigError(
            text("{}.name: expected a name that no other parameter has, got \"{}\", which {} has too",
                 entry.place, param.name, first->second));
      set_.params.push_back(param);
    }
  }
  void add_all(const std::vector<ParamConfig>& params, std::string_view source) {
    for (const ParamConfig& param : params) add({param, text("{}: {}", source, param.name)});
  }
  [[nodiscard]] ParamSet take(std::int64_t layers) {
    set_.layers = static_cast<int>(layers);
    return std::move(set_);
  }

 private:
  void add_bytes(const Entry& entry, const Parameter& param, std::int64_t copies) {
    std::int64_t more = 0;
    if (__builtin_mul_overflow(param.shape.elements().value() * kMostBytesPerElement, copies, &more) ||
        __builtin_add_overflow(bytes_, more, &bytes_))
      throw ConfigError(
          text("{}: expected the bytes of all parameters so far, {} an element, to fit a signed 64-bit "
               "number, got too many with {} of shape {}",
               entry.place, kMostBytesPerElement, copies, shape_text(entry.config)));
  }

  const GradientsConfig& gradients_;
  ParamSet set_;
  std::unordered_map<std::string, std::string> places_;
  std::int64_t bytes_ = 0;
};

}  // namespace

ParamSet build_params(const ModelConfig& model, const GradientsConfig& gradients) {
  Builder builder(gradients);
  if (model.preset) {
    const Preset& preset = preset_named(*model.preset);
    builder.add_all(preset_params(preset, model.layers), "model.preset");
    return builder.take(model.layers.value_or(static_cast<std::int64_t>(preset.layers.size())));
  }
  if (model.transformer) {
    builder.add_all(transformer_params(*model.transformer), "model.transformer");
    return builder.take(model.transformer->layers);
  }
  if (model.safetensors) {
    const std::string& read = model.checkpoint;
    const CheckpointModel found =
        checkpoint_model(read.empty() ? checkpoint_tensors(*model.safetensors) : read, *model.safetensors);
    builder.add_all(found.params, "model.safetensors");
    return builder.take(found.layers);
  }
  if (model.params)
    for (std::size_t i = 0; i < model.params->size(); ++i)
      builder.add({(*model.params)[i], text("model.params[{}]", i)});
  return builder.take(0);
}

}  // namespace muonbench
