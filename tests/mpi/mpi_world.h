// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tests/support/tested_backend.h"

#include "src/backend/mpi/mpi_control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/backend/select.h"
#include "src/backend/transport.h"
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
