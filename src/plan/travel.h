// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/config/words.h"

namespace muonbench {

/// How routed weights travel to their homes and their updates back. All ways give the same bits.
struct Travel {
  ExchangeWay exchange = ExchangeWay::kTwoStage;
};

}  // namespace muonbench
