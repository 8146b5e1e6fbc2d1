// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/dtype.h"
#include "src/base/optimizer_rules.h"
#include "src/config/words.h"
#include "src/ns/ns_options.h"

/// Sections muon, adam and layer_wise of the configuration, as run_config.h has them.
namespace muonbench {

/// One entry of muon.groups; what it leaves out is as in section muon.
struct GroupConfig {
  double lr = 0, weight_decay = 0;
};

struct MuonConfig {
  double lr = 3e-4, momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.01;
  WeightDecayMethod weight_decay_method = WeightDecayMethod::kDecoupled;
  std::string coefficient_type = "quintic";
  std::vector<NsCoefficients> custom_coefficients;
  int num_ns_steps = 5;
  ScaleMode scale_mode = ScaleMode::kSpectral;
  double extra_scale_factor = 1.0;
  MatmulPrecision fp32_matmul_prec = MatmulPrecision::kMedium;
  NsAlgorithm ns_algorithm = NsAlgorithm::kGemm;
  int ns_batch_size = 1;
  bool split_qkv = false;
  HomePolicy home_policy = HomePolicy::kLptNsCost;
  std::map<std::string, std::pair<int, int>> homes;
  ExchangeWay exchange = ExchangeWay::kTwoStage;
  DType return_dtype = DType::kFp32;
  int exchange_chunks = 1;  ///< waves
  GtpOnlyHomes gtp_only_homes = GtpOnlyHomes::kColumn;
  bool split_oversized = false;
  bool concurrent_groups = true;
  std::map<std::string, GroupConfig> groups;  ///< beside the built-in dense and expert
};

struct AdamConfig {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  bool decoupled_weight_decay = true;
  DType moment_dtype = DType::kFp32;
};

/// How mode layer_wise deals parameters out over replicas.
struct LayerWiseConfig {
  OwnerPolicy policy = OwnerPolicy::kPingPong;
  LayerWiseAdam adam = LayerWiseAdam::kLayerWise;
};

}  // namespace muonbench
