// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/base/dtype.h"
#include "src/base/strong.h"
#include "src/config/words.h"
#include "src/ns/ns_options.h"

namespace muonbench {

/// How routed weights travel to their homes and their updates back. All ways give the same bits
/// where NS takes matrices one by one; batches form within a wave.
struct Travel {
  ExchangeWay exchange = ExchangeWay::kTwoStage;
  /// Of updates on the way back. bf16: as NS leaves them before they are scaled, which the receiver does
  /// then; equal bits where NS ends in bf16, under precision medium.
  DType return_dtype = DType::kFp32;
  /// In which wave a parameter travels, by index; empty: all in one.
  std::vector<int> wave_of = {};

  [[nodiscard]] int wave(ParamIndex p) const { return wave_of.empty() ? 0 : wave_of.at(p.at()); }
  [[nodiscard]] NsScaling scaling() const {
    return return_dtype == DType::kBf16 ? NsScaling::kByReceiver : NsScaling::kByNs;
  }
};

}  // namespace muonbench
