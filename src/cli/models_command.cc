// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/cli/agree.h"
#include "src/cli/commands.h"
#include "src/model/presets.h"

namespace muonbench {
namespace {

/// Equal matrices of a model, wherever they stand.
struct Kind {
  PresetMatrix matrix;
  std::int64_t count = 0;  ///< routed experts of all layers one by one

  [[nodiscard]] std::int64_t parameters() const { return count * matrix.rows * matrix.cols; }
};

bool is_same(const PresetMatrix& a, const PresetMatrix& b) {
  return a.name == b.name && a.rows == b.rows && a.cols == b.cols && a.optimizer == b.optimizer &&
         a.tp_dim == b.tp_dim && a.gtp_remat == b.gtp_remat && a.experts == b.experts;
}

std::vector<Kind> kinds_of(const Preset& preset) {
  std::vector<std::vector<PresetMatrix>> blocks = {preset.before};
  blocks.insert(blocks.end(), preset.layers.begin(), preset.layers.end());
  blocks.push_back(preset.after);
  std::vector<Kind> kinds;
  for (const std::vector<PresetMatrix>& block : blocks) {
    for (const PresetMatrix& matrix : block) {
      auto same = std::find_if(kinds.begin(), kinds.end(),
                               [&](const Kind& kind) { return is_same(kind.matrix, matrix); });
      if (same == kinds.end()) same = kinds.insert(same, Kind{matrix, 0});
      same->count += std::max<std::int64_t>(matrix.experts, 1);
    }
  }
  return kinds;
}

struct Totals {
  std::int64_t muon = 0, adam = 0, muon_matrices = 0;
};

Totals totals_of(const Preset& preset) {
  Totals totals{0, preset.vector_parameters, 0};
  for (const Kind& kind : kinds_of(preset)) {
    const bool muon = kind.matrix.optimizer == "muon";
    (muon ? totals.muon : totals.adam) += kind.parameters();
    if (muon) totals.muon_matrices += kind.count;
  }
  return totals;
}

std::string list_of_models() {
  std::string lines = text("{:<28}{:>15}{:>15}{:>13}{:>15}{:>8}\n", "model", "parameters", "in Muon",
                           "in Adam", "Muon matrices", "layers");
  for (const Preset& preset : presets()) {
    const Totals totals = totals_of(preset);
    lines += text("{:<28}{:>15}{:>15}{:>13}{:>15}{:>8}\n", preset.name, preset.parameters, totals.muon,
                  totals.adam, totals.muon_matrices, preset.layers.size());
  }
  return lines +
         "\nmuonbench models NAME lists the weights of one; --set model.preset=NAME runs or plans it.\n";
}

std::string tags_of(const PresetMatrix& matrix) {
  std::vector<std::string> tags;
  if (matrix.tp_dim) tags.push_back(text("tp_dim {}", *matrix.tp_dim));
  if (matrix.gtp_remat) tags.emplace_back("gtp_remat");
  if (matrix.experts > 0) tags.push_back(text("expert, {} per layer", matrix.experts));
  return tags.empty() ? "replicated" : join(tags);
}

std::string weights_of(const Preset& preset) {
  std::string lines = text("{}: {} layers. Source: {}\n\n", preset.name, preset.layers.size(), preset.source);
  const auto row = [&](const std::string& name, const std::string& shape, const std::string& optimizer,
                       std::int64_t count, std::int64_t parameters, const std::string& tags) {
    lines += text("{:<22}{:>16}{:>7}{:>8}{:>16}  {}\n", name, shape, optimizer, count, parameters, tags);
  };
  lines += text("{:<22}{:>16}{:>7}{:>8}{:>16}  {}\n", "weight", "rows x columns", "by", "count", "parameters",
                "tags");
  for (const Kind& kind : kinds_of(preset)) {
    const PresetMatrix& matrix = kind.matrix;
    row(matrix.name, text("{} x {}", matrix.rows, matrix.cols), matrix.optimizer, kind.count,
        kind.parameters(), tags_of(matrix));
  }
  if (preset.vector_parameters > 0)
    row("vectors", "1-D", "adam", static_cast<std::int64_t>(preset.layers.size()), preset.vector_parameters,
        "replicated, one per layer");
  const Totals totals = totals_of(preset);
  return lines + text("\n{} parameters: {} in {} Muon matrices, {} in Adam. Published: {} ({})\n",
                      preset.parameters, totals.muon, totals.muon_matrices, totals.adam,
                      preset.published_parameters, preset.published_source);
}

}  // namespace

ExitCode models_command(const Arguments& arguments) {
  print_result(arguments.model.empty() ? list_of_models()
                                       : weights_of(preset_named(arguments.model, "models NAME")));
  return ExitCode::kDone;
}

}  // namespace muonbench
