// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/config/words.h"

namespace muonbench {

/// How mode layer_wise deals parameters out over replicas.
struct LayerWiseConfig {
  OwnerPolicy policy = OwnerPolicy::kPingPong;
  LayerWiseAdam adam = LayerWiseAdam::kLayerWise;
};

}  // namespace muonbench
