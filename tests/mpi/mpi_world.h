// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/mode_outcome.h"
#include "tests/support/tested_backend.h"

#include "src/backend/mpi/mpi_control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/backend/select.h"
#include "src/backend/transport.h"
#include "src/base/text.h"
#include "src/bench/mode_run.h"
#include "src/bench/resolve.h"

namespace muonbench {

/// The job that a test runs in: main() has begun MPI.
struct MpiWorld {
  MpiRuntime runtime{nullptr, nullptr};
  MpiControlPlane control{runtime};
  TestedBackend tested;
  std::unique_ptr<Device> device = make_device(tested.backend, runtime.local_rank());
};

/// What a mode makes of the configuration on one rank; every rank runs it. Collective.
[[nodiscard]] inline Outcome alone(MpiWorld& world, std::string_view mode, const RunConfig& config) {
  const RankGrid one(GridShape{});
  CommSet no_comms(one, WorldRank(0), [](const std::vector<WorldRank>&) { return std::unique_ptr<Comm>(); });
  RankContext context{WorldRank(0), *world.device, no_comms, world.control};
  return run_alone(mode, config, context);
}

/// One rank's communicators over a grid of the whole job.
class MpiDomain {
 public:
  MpiDomain(MpiWorld& world, const RankGrid& grid)
      : comms_(grid, world.runtime.rank(),
               [&world](const std::vector<WorldRank>& members) {
                 return make_comm(world.tested.transport, *world.device, world.runtime,
                                  members.front().value(), world.runtime.rank().value());
               }),
        context_{world.runtime.rank(), *world.device, comms_, world.control} {}
  [[nodiscard]] RankContext& context() { return context_; }

 private:
  CommSet comms_;
  RankContext context_;
};

/// (gtp_remat, tp) of every way to factor the job.
[[nodiscard]] inline std::vector<DomainShape> domains_of(const MpiWorld& world) {
  std::vector<DomainShape> domains;
  for (int tp = 1; tp <= world.runtime.size(); ++tp)
    if (world.runtime.size() % tp == 0) domains.push_back({world.runtime.size() / tp, tp});
  return domains;
}

/// Every way to share ranks out to dp, gtp_remat and tp.
[[nodiscard]] inline std::vector<ParallelismConfig> layouts_of(int ranks) {
  std::vector<ParallelismConfig> all;
  for (int dp = 1; dp <= ranks; ++dp) {
    for (int tp = 1; tp <= ranks; ++tp) {
      if (ranks % (dp * tp) != 0) continue;
      all.emplace_back();
      all.back().dp = dp;
      all.back().tp = tp;
      all.back().gtp_remat = ranks / (dp * tp);
    }
  }
  return all;
}

/// Every way to travel that the precision allows, the default among them.
[[nodiscard]] inline std::vector<MuonConfig> ways_to_travel(MuonConfig muon) {
  std::vector<MuonConfig> ways;
  for (const auto& [exchange, exchange_name] : kExchangeWayNames) {
    for (const auto& [dtype, dtype_name] : kDTypeNames) {
      if (dtype == DType::kBf16 && muon.fp32_matmul_prec != MatmulPrecision::kMedium) continue;
      for (const auto& [gtp_only, gtp_only_name] : kGtpOnlyHomesNames) {
        for (const int waves : {1, 3}) {
          muon.exchange = exchange;
          muon.return_dtype = dtype;
          muon.gtp_only_homes = gtp_only;
          muon.exchange_chunks = waves;
          ways.push_back(muon);
        }
      }
    }
  }
  return ways;
}

/// And some of them with oversized weights split: fused ones in waves, the others at once.
[[nodiscard]] inline std::vector<MuonConfig> ways_to_split(const MuonConfig& muon) {
  std::vector<MuonConfig> ways = ways_to_travel(muon);
  std::erase_if(ways, [](const MuonConfig& way) {
    return way.gtp_only_homes != GtpOnlyHomes::kColumn ||
           (way.exchange == ExchangeWay::kFused) != (way.exchange_chunks > 1);
  });
  for (MuonConfig& way : ways) way.split_oversized = true;
  return ways;
}

[[nodiscard]] inline std::string describe(const MuonConfig& way) {
  return text("{}{}, {}, {}, {} waves", way.split_oversized ? "oversized split, " : "",
              name_in(kExchangeWayNames, way.exchange), name_in(kDTypeNames, way.return_dtype),
              name_in(kGtpOnlyHomesNames, way.gtp_only_homes), way.exchange_chunks);
}

[[nodiscard]] inline std::string describe(const ParallelismConfig& layout) {
  return text("gtp_remat {}, tp {}, dp {}, pp {}, ep {}", layout.gtp_remat, layout.tp, layout.dp, layout.pp,
              layout.ep);
}

/// `check(run, domain, context)` for the configuration on every domain of the job, each with communicators of
/// its own.
template <class Check>
void on_every_domain(MpiWorld& world, RunConfig config, const Check& check) {
  for (const DomainShape domain : domains_of(world)) {
    config.parallelism.gtp_remat = domain.gtp_remat;
    config.parallelism.tp = domain.tp;
    const auto run = resolve(config);
    MpiDomain here(world, run->grid);
    check(*run, domain, here.context());
  }
}

}  // namespace muonbench
