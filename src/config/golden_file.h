// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/run_config.h"

namespace muonbench {

enum class GoldenKind { kNewtonSchulz, kMuon, kAdam };

/// One reference case of another framework: hyper-parameters in our own terms, arrays row-major fp32.
struct GoldenCase {
  std::string name;
  GoldenKind kind = GoldenKind::kNewtonSchulz;
  std::vector<std::int64_t> shape;
  MuonConfig muon;                        ///< newton_schulz and muon
  AdamConfig adam;                        ///< adam
  std::vector<float> input, output;       ///< newton_schulz
  std::vector<double> output_float64;     ///< newton_schulz
  std::vector<float> weight_before;       ///< muon, adam
  std::vector<std::vector<float>> grads;  ///< per step
  std::vector<std::vector<float>> weight_after;
  std::map<std::string, std::vector<float>>
      moments_after;  ///< momentum, exp_avg, exp_avg_sq: after the last step
};

/// Reads a golden file's text. Throws ConfigError naming source, case and field: not JSON, a missing or
/// unknown field, an array whose length is not its shape's, an unknown optimizer. A file without cases is
/// read: the caller decides.
[[nodiscard]] std::vector<GoldenCase> read_golden_file(std::string_view json, const std::string& source);

}  // namespace muonbench
