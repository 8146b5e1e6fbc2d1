// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/blas_info.h"
#include "src/backend/cpu/cpu_device.h"
#include "src/backend/linked_backend.h"
#include "src/base/log.h"

namespace muonbench {
namespace {

std::unique_ptr<Device> make_cpu(int local_rank) {
  const std::string advice = cpu::blas_advice();
  if (local_rank == 0 && !advice.empty()) log_warn(advice);
  return std::make_unique<cpu::CpuDevice>();
}

std::map<std::string, std::string> cpu_versions() { return {{"blas", blas_version()}}; }

}  // namespace

LinkedBackend cpu_backend() { return {"cpu", make_cpu, cpu_versions}; }

}  // namespace muonbench
