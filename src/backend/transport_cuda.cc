// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "src/backend/cuda/copy_engine_comm.h"
#include "src/backend/cuda/cuda_device.h"
#include "src/backend/cuda/nccl_comm.h"
#include "src/backend/cuda/staged_comm.h"
#include "src/backend/mpi/mpi_comm.h"
#include "src/backend/rank_places.h"
#include "src/backend/transport.h"
#include "src/base/check.h"

namespace muonbench {

std::string transport_refusal(std::string_view transport, const Device& device, const MpiRuntime& runtime,
                              ControlPlane& control) {
  if (transport == "mpi") return "";
  const std::vector<std::string> hosts = control.gather(runtime.host());
  const std::vector<std::string> gpus = control.gather(device.capabilities().pci.value_or(""));
  std::vector<RankPlace> places;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) places.push_back({hosts[rank], gpus[rank]});
  std::string refusal = shared_gpu_refusal(transport, places);
  if (refusal.empty() && transport == "copy_engine") refusal = several_hosts_refusal(transport, places);
  return refusal;
}

std::unique_ptr<Comm> make_comm(std::string_view transport, Device& device, const MpiRuntime& runtime,
                                int color, int key) {
  auto* const gpu = dynamic_cast<cuda::CudaDevice*>(&device);
  if (transport != "mpi") {
    MUONBENCH_CHECK(gpu != nullptr, "transport {} on {}", transport, device.capabilities().device_name);
    std::unique_ptr<Comm> nccl = cuda::make_nccl_comm(*gpu, runtime, color, key);
    if (transport == "nccl") return nccl;
    return cuda::make_copy_engine_comm(*gpu, make_mpi_comm(runtime, color, key), std::move(nccl));
  }
  std::unique_ptr<Comm> host = make_mpi_comm(runtime, color, key);
  return gpu == nullptr ? std::move(host) : cuda::make_staged_comm(*gpu, std::move(host));
}

}  // namespace muonbench
