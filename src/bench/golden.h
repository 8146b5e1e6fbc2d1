// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/bench/mode_run.h"
#include "src/config/golden_file.h"

namespace muonbench {

/// One golden case against what this program computes.
struct GoldenRow {
  std::string name;
  double max_abs_error = 0.0;
  double relative_error = 0.0;  ///< of the worst-judged array, Frobenius norms
  double of_bound = 0.0;        ///< worst ratio of an error to its bound; NaN if not finite
  [[nodiscard]] bool passed() const { return of_bound <= 1.0; }
};

/// Runs one case through the layer-sharded program (newton_schulz, muon) or Adam by rows (adam) on the whole
/// world: the matrix gtp_remat-tagged, pad_for_alignment 16, TP along the first dim that tp divides, fp32
/// weights. Collective; every rank gets the row.
///
/// newton_schulz runs as one step of muon from zero weights with lr 1 and momentum 0, and is judged after
/// division by the scale factor: |out - output_float64| <= 2 |output - output_float64| + b |output_float64|,
/// b = 2e-5 (highest), 5e-3 (medium). muon, per step: |w - w_ref| <= b |w_ref - w_before| + steps 2^-24
/// |w_ref|, b = 2e-4 (highest), 3e-2 (medium); adam: b = 1e-5. Moments are judged with the weights' bound,
/// w_before being zero for them.
[[nodiscard]] GoldenRow run_golden_case(const GoldenCase& golden, DomainShape domain, RankContext& context);

}  // namespace muonbench
