// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_comm.h"
#include "src/backend/transport.h"
#include "src/base/check.h"

namespace muonbench {

std::string transport_refusal(std::string_view /*transport*/, const Device& /*device*/,
                              const MpiRuntime& /*runtime*/, ControlPlane& /*control*/) {
  return "";
}

std::unique_ptr<Comm> make_comm(std::string_view transport, Device& /*device*/, const MpiRuntime& runtime,
                                int color, int key) {
  MUONBENCH_CHECK(transport == "mpi", "transport {} in a build that has mpi alone", transport);
  return make_mpi_comm(runtime, color, key);
}

}  // namespace muonbench
