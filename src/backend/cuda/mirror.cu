// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "src/backend/cuda/launch.h"
#include "src/backend/cuda/ns_kernels.h"

namespace muonbench::cuda {
namespace {

constexpr int kSide = 32;

template <class Word>
__global__ void mirror(Word* first, std::int64_t stride, std::int64_t side) {
  if (blockIdx.y > blockIdx.x) return;
  Word* matrix = first + blockIdx.z * stride;
  const std::int64_t row = std::int64_t{blockIdx.x} * kSide + threadIdx.y;
  const std::int64_t column = std::int64_t{blockIdx.y} * kSide + threadIdx.x;
  if (row < side && column < row) matrix[column * side + row] = matrix[row * side + column];
}

template <class Word>
void launch_mirror_of(const NsBatch& batch, std::int64_t side, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>((side + kSide - 1) / kSide);
  mirror<<<dim3(tiles, tiles, static_cast<unsigned>(batch.count)), dim3(kSide, kSide), 0, stream>>>(
      static_cast<Word*>(batch.x), batch.stride, side);
  check_launch("mirror");
}

}  // namespace

void launch_mirror(const NsBatch& batch, std::int64_t side, cudaStream_t stream) {
  if (batch.count == 0) return;
  switch (batch.number) {
    case Number::kFp32: launch_mirror_of<std::uint32_t>(batch, side, stream); return;
    case Number::kBf16:
    case Number::kFp16: launch_mirror_of<std::uint16_t>(batch, side, stream); return;
  }
}

}  // namespace muonbench::cuda
