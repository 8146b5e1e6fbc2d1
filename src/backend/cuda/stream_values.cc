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
  check_driver(write_(stream, address(at), value, CU_STREAM_WRITE_VALUE_DEFAULT), "cuStreamWriteValue32");
}

void StreamValues::wait(cudaStream_t stream, std::uint32_t* at, std::uint32_t value) const {
  // Not CU_STREAM_WAIT_VALUE_FLUSH, which is about writes of devices other than GPUs: a peer's stream writes
  // the number when its copy is done.
  check_driver(wait_(stream, address(at), value, CU_STREAM_WAIT_VALUE_GEQ), "cuStreamWaitValue32");
}

}  // namespace muonbench::cuda
