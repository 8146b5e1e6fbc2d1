// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/stream_values.h"

#include "src/backend/cuda/driver_entry.h"

namespace muonbench::cuda {
namespace {

constexpr unsigned kSince = 11070;

CUdeviceptr address(std::uint32_t* at) { return reinterpret_cast<CUdeviceptr>(at); }

}  // namespace

StreamValues::StreamValues()
    : write_(driver_function<decltype(write_)>("cuStreamWriteValue32", kSince)),
      wait_(driver_function<decltype(wait_)>("cuStreamWaitValue32", kSince)) {}

void StreamValues::write(cudaStream_t stream, std::uint32_t* at, std::uint32_t value) const {
  const CUresult result = write_(stream, address(at), value, CU_STREAM_WRITE_VALUE_DEFAULT);
  MUONBENCH_CHECK(result == CUDA_SUCCESS, "cuStreamWriteValue32: {}", static_cast<int>(result));
}

void StreamValues::wait(cudaStream_t stream, std::uint32_t* at, std::uint32_t value) const {
  const CUresult result = wait_(stream, address(at), value, CU_STREAM_WAIT_VALUE_GEQ);
  MUONBENCH_CHECK(result == CUDA_SUCCESS, "cuStreamWaitValue32: {}", static_cast<int>(result));
}

}  // namespace muonbench::cuda
