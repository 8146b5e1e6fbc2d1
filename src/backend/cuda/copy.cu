// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
//
// Strided copies between fp32 and bf16, and memory filled with generated numbers.
#include <cstdint>

#include "src/backend/cuda/kernels.h"
#include "src/backend/cuda/launch.h"
#include "src/backend/cuda/vector.cuh"
#include "src/base/normal.h"

namespace muonbench::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kInFlight = 4;  // groups that a thread loads before it stores the first

// W elements as they lie in memory, so that a copy without conversion keeps every bit of a NaN.
template <int W, class T>
struct Raw {
  T values[W];
};

template <int W>
__device__ Raw<W, float> load_raw(const float* from) {
  const Vector<W> v = load_vector<W>(from);
  Raw<W, float> raw;
  for (int w = 0; w < W; ++w) raw.values[w] = v[w];
  return raw;
}
template <int W>
__device__ Raw<W, std::uint16_t> load_raw(const std::uint16_t* from) {
  if constexpr (W == 4) {
    const ushort4 loaded = *reinterpret_cast<const ushort4*>(from);
    return {loaded.x, loaded.y, loaded.z, loaded.w};
  } else {
    return {*from};
  }
}

template <int W>
__device__ void store_raw(float* to, const Raw<W, float>& raw) {
  Vector<W> v;
  for (int w = 0; w < W; ++w) v[w] = raw.values[w];
  store_vector(to, v);
}
template <int W>
__device__ void store_raw(float* to, const Raw<W, std::uint16_t>& raw) {
  Vector<W> v;
  for (int w = 0; w < W; ++w) v[w] = fp32_from_bf16(raw.values[w]);
  store_vector(to, v);
}
template <int W>
__device__ void store_raw(std::uint16_t* to, const Raw<W, float>& raw) {
  Vector<W> v;
  for (int w = 0; w < W; ++w) v[w] = raw.values[w];
  store_bf16(to, v);
}
template <int W>
__device__ void store_raw(std::uint16_t* to, const Raw<W, std::uint16_t>& raw) {
  if constexpr (W == 4)
    *reinterpret_cast<ushort4*>(to) =
        make_ushort4(raw.values[0], raw.values[1], raw.values[2], raw.values[3]);
  else
    *to = raw.values[0];
}

template <int W, class Source, class Target>
__device__ void copy_part(const DeviceTile& tile, const TilePart& part) {
  const Source* src = static_cast<const Source*>(tile.src) + part.row * tile.src_stride + part.col;
  Target* dst = static_cast<Target*>(tile.dst) + part.row * tile.dst_stride + part.col;
  const unsigned per_row = static_cast<unsigned>(part.cols) / W;
  const unsigned groups = per_row * static_cast<unsigned>(part.rows);
  for (unsigned first = threadIdx.x; first < groups; first += kThreads * kInFlight) {
    Raw<W, Source> held[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const unsigned group = first + k * kThreads;
      if (group < groups)
        held[k] = load_raw<W>(src + group / per_row * tile.src_stride + group % per_row * W);
    }
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const unsigned group = first + k * kThreads;
      if (group < groups)
        store_raw<W>(dst + group / per_row * tile.dst_stride + group % per_row * W, held[k]);
    }
  }
}

template <class Source, class Target>
__device__ void copy_part_widely(const DeviceTile& tile, const TilePart& part) {
  const std::int64_t places = tile.src_stride | tile.dst_stride | part.cols | part.col;
  const bool whole_groups = places % 4 == 0 &&
                            reinterpret_cast<std::uintptr_t>(tile.src) % (4 * sizeof(Source)) == 0 &&
                            reinterpret_cast<std::uintptr_t>(tile.dst) % (4 * sizeof(Target)) == 0;
  if (whole_groups)
    copy_part<4, Source, Target>(tile, part);
  else
    copy_part<1, Source, Target>(tile, part);
}

__global__ void __launch_bounds__(kThreads) copy_tiles(const DeviceTile* tiles, const TilePart* parts) {
  const TilePart part = parts[blockIdx.x];
  const DeviceTile tile = tiles[part.tile];
  if (tile.src_bf16 != 0 && tile.dst_bf16 != 0)
    copy_part_widely<std::uint16_t, std::uint16_t>(tile, part);
  else if (tile.src_bf16 != 0)
    copy_part_widely<std::uint16_t, float>(tile, part);
  else if (tile.dst_bf16 != 0)
    copy_part_widely<float, std::uint16_t>(tile, part);
  else
    copy_part_widely<float, float>(tile, part);
}

template <class Target>
__global__ void __launch_bounds__(kThreads) fill_normal(NormalFill work) {
  const std::int64_t count = work.rows * work.cols;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += stride) {
    const std::uint64_t key = normal::row_key(work.stream, work.first_row + i / work.cols);
    const std::uint64_t bits = normal::element_bits(key, work.first_col + i % work.cols);
    const double value = normal::from_bits(bits, [](double x) { return __dsqrt_rn(x); }) * work.scale;
    store_raw<1>(static_cast<Target*>(work.out) + i, Raw<1, float>{static_cast<float>(value)});
  }
}

}  // namespace

void launch_copy(const DeviceTile* tiles, const TilePart* parts, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  copy_tiles<<<grid_of(count), kThreads, 0, stream>>>(tiles, parts);
  check_launch("copy_tiles");
}

cudaError_t load_kernels() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, copy_tiles);
}

void launch_fill(const NormalFill& work, cudaStream_t stream) {
  const std::int64_t count = work.rows * work.cols;
  if (count == 0) return;
  constexpr std::int64_t kMostBlocks = 1 << 16;
  const std::int64_t blocks = (count + kThreads - 1) / kThreads;
  const unsigned grid = grid_of(blocks < kMostBlocks ? blocks : kMostBlocks);
  switch (work.dtype) {
    case DType::kFp32: fill_normal<float><<<grid, kThreads, 0, stream>>>(work); break;
    case DType::kBf16: fill_normal<std::uint16_t><<<grid, kThreads, 0, stream>>>(work); break;
  }
  check_launch("fill_normal");
}

}  // namespace muonbench::cuda
