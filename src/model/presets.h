// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/run_config.h"

namespace muonbench {

/// One matrix of a layer kind, or of what stands before or after the layers.
struct PresetMatrix {
  std::string name;
  std::int64_t rows = 0, cols = 0;
  std::string optimizer = "muon";
  std::optional<int> tp_dim;
  bool gtp_remat = true;
  std::int64_t experts = 0;  ///< 0: one dense matrix; else that many routed experts' matrices in each layer
};

/// The weights of a published model, as configs/models/NAME.json lists them. The files are compiled into the
/// program.
struct Preset {
  std::string name, source;
  std::vector<PresetMatrix> before;               ///< on the first pipeline stage
  std::vector<std::vector<PresetMatrix>> layers;  ///< per layer, in order
  std::vector<PresetMatrix> after;                ///< on the last pipeline stage
  /// Norms, biases and other vectors together: one Adam vector per layer of equal size, the remainder on the
  /// last.
  std::int64_t vector_parameters = 0;
  std::int64_t parameters = 0;            ///< of the whole model; a test adds them up
  std::int64_t published_parameters = 0;  ///< as its authors say, often rounded
  std::string published_source;
};

/// In alphabetical order.
[[nodiscard]] const std::vector<Preset>& presets();
/// Throws ConfigError with the nearest name, headed by `key`: what the user set.
[[nodiscard]] const Preset& preset_named(std::string_view name, std::string_view key = "model.preset");

/// The parameters of the first `layers` layers (all if empty) in the form of model.params; what stands before
/// and after the layers stays. Names: NAME of matrices outside layers, layers.L.NAME inside, layers.L.NAME.E
/// for expert E.
[[nodiscard]] std::vector<ParamConfig> preset_params(const Preset& preset,
                                                     std::optional<std::int64_t> layers);

}  // namespace muonbench
