// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "src/backend/cuda/cuda_device.h"
#include "src/backend/cuda/library_versions.h"
#include "src/backend/linked_backend.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

/// Never another device in its place: CPU times under CUDA's name would be worse than none.
[[noreturn]] void refuse_without_device() {
  const char* const visible =
      std::getenv("CUDA_VISIBLE_DEVICES");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  throw ConfigError(text("run.backend: backend cuda requested, 0 devices visible{}",
                         visible == nullptr ? "" : text(" (CUDA_VISIBLE_DEVICES is '{}')", visible)));
}

/// cuBLAS reads these, and computes in another precision than muon.fp32_matmul_prec says.
void refuse_precision_overrides() {
  for (const char* name :
       {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATION_STRATEGY"})
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets any
    if (std::getenv(name) != nullptr)
      throw ConfigError(
          text("{} is set: unset it, as muon.fp32_matmul_prec alone decides the precision", name));
}

std::unique_ptr<Device> make_cuda(int local_rank) {
  refuse_precision_overrides();
  const int visible = cuda::visible_devices();
  if (visible == 0) refuse_without_device();
  return std::make_unique<cuda::CudaDevice>(local_rank % visible);
}

}  // namespace

std::vector<LinkedBackend> backend_table() {
  return {cpu_backend(), {"cuda", make_cuda, cuda::library_versions}};
}

}  // namespace muonbench
