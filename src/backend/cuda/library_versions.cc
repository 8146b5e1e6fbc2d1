// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/library_versions.h"

#include <nccl.h>

#include "src/backend/cuda/cuda_check.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace muonbench::cuda {
namespace {

int property(libraryPropertyType type) {
  int value = 0;
  MUONBENCH_CUDA(cublasGetProperty(type, &value));
  return value;
}

std::string cuda_version() {
  int version = 0;
  MUONBENCH_CUDA(cudaRuntimeGetVersion(&version));
  return text("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cublas_version() {
  return text("{}.{}.{}", property(MAJOR_VERSION), property(MINOR_VERSION), property(PATCH_LEVEL));
}

std::string nccl_version() {
  int version = 0;
  const ncclResult_t result = ncclGetVersion(&version);
  MUONBENCH_CHECK(result == ncclSuccess, "ncclGetVersion: {}", ncclGetErrorString(result));
  return text("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace

std::map<std::string, std::string> library_versions() {
  return {{"cuda", cuda_version()}, {"cublas", cublas_version()}, {"nccl", nccl_version()}};
}

}  // namespace muonbench::cuda
