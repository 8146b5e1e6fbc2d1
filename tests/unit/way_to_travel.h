// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/support/program_walk.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {

/// One way to travel, and what else a model needs to be told.
struct Way {
  ExchangeWay exchange = ExchangeWay::kTwoStage;
  DType return_dtype = DType::kFp32;
  GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn;
  int waves = 1;

  [[nodiscard]] ModelOptions options() const {
    return {.homes = lpt(gtp_only), .exchange = exchange, .return_dtype = return_dtype, .waves = waves};
  }
};

[[nodiscard]] inline std::string describe(DomainShape domain, const Way& way) {
  return std::to_string(domain.gtp_remat) + " x " + std::to_string(domain.tp) + ", " +
         std::string(name_in(kExchangeWayNames, way.exchange)) + ", " +
         std::string(name_in(kDTypeNames, way.return_dtype)) + ", " +
         std::string(name_in(kGtpOnlyHomesNames, way.gtp_only)) + ", " + std::to_string(way.waves) + " waves";
}

[[nodiscard]] inline std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const auto& [exchange, exchange_name] : kExchangeWayNames)
    for (const auto& [dtype, dtype_name] : kDTypeNames)
      for (const GtpOnlyHomes gtp_only : {GtpOnlyHomes::kColumn, GtpOnlyHomes::kSingle})
        for (const int waves : {1, 3}) ways.push_back({exchange, dtype, gtp_only, waves});
  return ways;
}

/// Walks layer_sharded, and checks that NS ran at the homes alone.
inline void expect_walk(const TestModel& model) {
  ProgramWalk walk(model, model.programs("layer_sharded"));
  ASSERT_NO_THROW(walk.run());
  ASSERT_NO_THROW(walk.check_weights());
  for (int r = 0; r < model.grid().world_size(); ++r) {
    const WorldRank rank(r);
    const DomainPlace place = model.grid().coordinates(Family::kDense, rank).place;
    for (int i = 0; i < model.params().size(); ++i) {
      const ParamIndex p(i);
      const Parameter& param = model.params()[p];
      if (param.optimizer != OptimizerKind::kMuon || !param.has_gradient()) continue;
      const auto& home = model.inputs().homes[p.at()];
      const bool here = !home || home->is_at(place);
      ASSERT_EQ(walk.ns_runs(rank, p), here ? static_cast<int>(walk.matrices(rank, p).size()) : 0)
          << param.name << " on rank " << r;
    }
  }
}

}  // namespace muonbench
