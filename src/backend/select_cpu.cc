// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/blas_info.h"
#include "src/backend/cpu/cpu_device.h"
#include "src/backend/select.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/text.h"

namespace muonbench {

std::vector<std::string> linked_backends() { return {"cpu"}; }

std::unique_ptr<Device> make_device(std::string_view backend, int local_rank) {
  if (backend != "cpu")
    throw ConfigError(
        text("run.backend: this program was built with {}, got '{}'", join(linked_backends()), backend));
  const std::string advice = cpu::blas_advice();
  if (local_rank == 0 && !advice.empty()) log_warn(advice);
  return std::make_unique<cpu::CpuDevice>();
}

}  // namespace muonbench
