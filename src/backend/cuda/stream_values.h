// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace muonbench::cuda {

/// Numbers in device memory that streams write and wait for, without a kernel. They only grow, and compare as
/// cyclic 32-bit numbers.
class StreamValues {
 public:
  /// Throws RuntimeFailure where the driver has no such operations.
  StreamValues();

  /// Writes once what is in `stream` so far is done, and seen by whoever sees the number.
  void write(cudaStream_t stream, std::uint32_t* at, std::uint32_t value) const;
  /// What comes next in `stream` waits until the number is at least `value`.
  void wait(cudaStream_t stream, std::uint32_t* at, std::uint32_t value) const;

 private:
  decltype(&cuStreamWriteValue32) write_;
  decltype(&cuStreamWaitValue32) wait_;
};

}  // namespace muonbench::cuda
