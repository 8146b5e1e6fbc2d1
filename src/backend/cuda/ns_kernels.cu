// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <type_traits>

#include <cuda_fp16.h>

#include "src/backend/cuda/launch.h"
#include "src/backend/cuda/ns_kernels.h"
#include "src/backend/cuda/vector.cuh"

namespace muonbench::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr std::int64_t kPartElements = 4096;  // of a block that sums squares, at least
constexpr std::int64_t kMostParts = 1024;
constexpr std::int64_t kBlockElements = 8192;  // of a block that writes X or the result
constexpr double kSmallestNorm = 1e-15;        // an all-zero matrix stays zero

// The sum over the block's threads, on every thread, added in one fixed order.
__device__ double sum_over_block(double value) {
  __shared__ double of_warp[kWarps];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0.0;
  for (int warp = 0; warp < kWarps; ++warp) sum += of_warp[warp];
  return sum;
}

__device__ double square(float value) { return static_cast<double>(value) * static_cast<double>(value); }

// Block (part, matrix) sums the squares of every gridDim.x-th stretch of 4 * kThreads elements. Which element
// goes to which sum depends on the matrix's size alone, also where its address does not allow 16-byte loads.
__global__ void __launch_bounds__(kThreads)
    sum_squares(const float* const* in, std::int64_t elements, double* parts) {
  const float* matrix = in[blockIdx.y];
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * 4;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  const std::int64_t whole = elements / 4 * 4;
  double sum = 0.0;
  if (aligned16(matrix)) {
#pragma unroll 4
    for (std::int64_t i = first; i < whole; i += stride) {
      const float4 v = *reinterpret_cast<const float4*>(matrix + i);
      sum = (((sum + square(v.x)) + square(v.y)) + square(v.z)) + square(v.w);
    }
  } else {
    for (std::int64_t i = first; i < whole; i += stride)
      for (int w = 0; w < 4; ++w) sum += square(matrix[i + w]);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (std::int64_t i = whole; i < elements; ++i) sum += square(matrix[i]);
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) parts[static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

template <int W>
__device__ void store(float* to, const Vector<W>& v) {
  store_vector(to, v);
}
template <int W>
__device__ void store(std::uint16_t* to, const Vector<W>& v) {
  store_bf16(to, v);
}
template <int W>
__device__ Vector<W> load(const float* from) {
  return load_vector<W>(from);
}
template <int W>
__device__ Vector<W> load(const std::uint16_t* from) {
  return load_bf16<W>(from);
}
template <int W>
__device__ void store(__half* to, const Vector<W>& v) {
  store_fp16(to, v);
}
template <int W>
__device__ Vector<W> load(const __half* from) {
  return load_fp16<W>(from);
}

// Elements [begin, end) of one matrix, a group of W for each call of `each`.
template <int W, class Each>
__device__ void for_groups(std::int64_t begin, std::int64_t end, const Each& each) {
#pragma unroll 4
  for (std::int64_t i = begin + static_cast<std::int64_t>(threadIdx.x) * W; i + W <= end; i += kThreads * W)
    each(i);
}

template <int W, class T>
__device__ void normalise_group(const float* in, T* x, std::int64_t i, double inverse) {
  Vector<W> v = load_vector<W>(in + i);
  for (int w = 0; w < W; ++w) v[w] = static_cast<float>(static_cast<double>(v[w]) * inverse);
  store<W>(x + i, v);
}

// Of the parts of matrix blockIdx.y, on every thread.
__device__ double sum_of_parts(const double* parts, std::int64_t part_count) {
  const double* mine = parts + static_cast<std::int64_t>(blockIdx.y) * part_count;
  double sum = 0.0;
  for (std::int64_t i = threadIdx.x; i < part_count; i += kThreads) sum += mine[i];
  return sum_over_block(sum);
}

__global__ void __launch_bounds__(kThreads)
    store_sums(const double* parts, std::int64_t part_count, float* sums) {
  const double sum = sum_of_parts(parts, part_count);
  if (threadIdx.x == 0) sums[blockIdx.y] = static_cast<float>(sum);
}

template <class T>
__device__ void normalise_matrix(const float* const* in, double sum_of_squares, T* x, std::int64_t elements,
                                 std::int64_t stride) {
  const double norm = sqrt(sum_of_squares);
  // Not finite minus itself is NaN: it makes all of X NaN.
  const double inverse = isfinite(norm) ? 1.0 / fmax(norm, kSmallestNorm) : norm - norm;

  const float* matrix = in[blockIdx.y];
  T* target = x + static_cast<std::int64_t>(blockIdx.y) * stride;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kBlockElements;
  const std::int64_t end = min(begin + kBlockElements, elements);
  if (!aligned16(matrix)) {
    for_groups<1>(begin, end, [&](std::int64_t i) { normalise_group<1>(matrix, target, i, inverse); });
    return;
  }
  const std::int64_t whole = begin + (end - begin) / 4 * 4;
  for_groups<4>(begin, whole, [&](std::int64_t i) { normalise_group<4>(matrix, target, i, inverse); });
  for_groups<1>(whole, end, [&](std::int64_t i) { normalise_group<1>(matrix, target, i, inverse); });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    normalise(const float* const* in, const double* parts, std::int64_t part_count, T* x,
              std::int64_t elements, std::int64_t stride) {
  normalise_matrix(in, sum_of_parts(parts, part_count), x, elements, stride);
}

template <class T>
__global__ void __launch_bounds__(kThreads) normalise_by_sums(const float* const* in, const float* sums, T* x,
                                                              std::int64_t elements, std::int64_t stride) {
  normalise_matrix(in, static_cast<double>(sums[blockIdx.y]), x, elements, stride);
}

template <int W, class T>
__device__ void scale_group(const T* x, float* out, std::int64_t i, float first, float second) {
  Vector<W> v = load<W>(x + i);
  for (int w = 0; w < W; ++w) {
    if constexpr (std::is_same_v<T, __half>) v[w] = round_to_bf16(v[w]);
    v[w] = (v[w] * first) * second;
  }
  store_vector(out + i, v);
}

template <class T>
__global__ void __launch_bounds__(kThreads) scale_out(float* const* out, const T* x, std::int64_t elements,
                                                      std::int64_t stride, float first, float second) {
  float* matrix = out[blockIdx.y];
  const T* source = x + static_cast<std::int64_t>(blockIdx.y) * stride;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kBlockElements;
  const std::int64_t end = min(begin + kBlockElements, elements);
  if (!aligned16(matrix)) {
    for_groups<1>(begin, end, [&](std::int64_t i) { scale_group<1>(source, matrix, i, first, second); });
    return;
  }
  const std::int64_t whole = begin + (end - begin) / 4 * 4;
  for_groups<4>(begin, whole, [&](std::int64_t i) { scale_group<4>(source, matrix, i, first, second); });
  for_groups<1>(whole, end, [&](std::int64_t i) { scale_group<1>(source, matrix, i, first, second); });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    scaled_copy(const T* source, T* target, std::int64_t elements, std::int64_t stride, float factor) {
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.y) * stride;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= elements) return;
  store<1>(target + base + i, Vector<1>{factor * load<1>(source + base + i)[0]});
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_to_diagonal(const T* source, T* target, std::int64_t side, std::int64_t stride, float value) {
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.y) * stride;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= side * side) return;
  const float old = load<1>(source + base + i)[0];
  store<1>(target + base + i, Vector<1>{i % (side + 1) == 0 ? old + value : old});
}

/// launch(x) with the batch's numbers as what they are.
template <class Launch>
void by_number(const NsBatch& batch, const Launch& launch) {
  switch (batch.number) {
    case Number::kFp32: launch(static_cast<float*>(batch.x)); return;
    case Number::kBf16: launch(static_cast<std::uint16_t*>(batch.x)); return;
    case Number::kFp16: launch(static_cast<__half*>(batch.x)); return;
  }
}

dim3 grid_for(const NsBatch& batch, std::int64_t block_elements) {
  return {grid_of((batch.elements + block_elements - 1) / block_elements), static_cast<unsigned>(batch.count),
          1};
}

void launch_sum_squares(const float* const* in, double* parts, const NsBatch& batch, cudaStream_t stream) {
  const dim3 grid(grid_of(norm_parts(batch.elements)), static_cast<unsigned>(batch.count), 1);
  sum_squares<<<grid, kThreads, 0, stream>>>(in, batch.elements, parts);
  check_launch("sum_squares");
}

}  // namespace

std::int64_t norm_parts(std::int64_t elements) {
  const std::int64_t parts = (elements + kPartElements - 1) / kPartElements;
  return parts < kMostParts ? parts : kMostParts;
}

void launch_sums_of_squares(const float* const* in, double* parts, float* sums, const NsBatch& batch,
                            cudaStream_t stream) {
  launch_sum_squares(in, parts, batch, stream);
  const dim3 grid(1, static_cast<unsigned>(batch.count), 1);
  store_sums<<<grid, kThreads, 0, stream>>>(parts, norm_parts(batch.elements), sums);
  check_launch("store_sums");
}

void launch_normalise_by_sums(const float* const* in, const float* sums, const NsBatch& batch,
                              cudaStream_t stream) {
  const dim3 grid = grid_for(batch, kBlockElements);
  by_number(batch, [&](auto* x) {
    normalise_by_sums<<<grid, kThreads, 0, stream>>>(in, sums, x, batch.elements, batch.stride);
  });
  check_launch("normalise_by_sums");
}

void launch_normalise(const float* const* in, double* parts, const NsBatch& batch, cudaStream_t stream) {
  launch_sum_squares(in, parts, batch, stream);
  const std::int64_t part_count = norm_parts(batch.elements);
  const dim3 grid = grid_for(batch, kBlockElements);
  by_number(batch, [&](auto* x) {
    normalise<<<grid, kThreads, 0, stream>>>(in, parts, part_count, x, batch.elements, batch.stride);
  });
  check_launch("normalise");
}

void launch_scale_out(float* const* out, const NsBatch& batch, float first, float second,
                      cudaStream_t stream) {
  const dim3 grid = grid_for(batch, kBlockElements);
  by_number(batch, [&]<class T>(const T* x) {
    scale_out<T><<<grid, kThreads, 0, stream>>>(out, x, batch.elements, batch.stride, first, second);
  });
  check_launch("scale_out");
}

void launch_scaled_copy(const NsBatch& source, void* target, float factor, cudaStream_t stream) {
  const dim3 grid = grid_for(source, kThreads);
  by_number(source, [&]<class T>(const T* from) {
    scaled_copy<T><<<grid, kThreads, 0, stream>>>(from, static_cast<T*>(target), source.elements,
                                                  source.stride, factor);
  });
  check_launch("scaled_copy");
}

void launch_add_to_diagonal(const NsBatch& source, std::int64_t side, void* target, float value,
                            cudaStream_t stream) {
  const dim3 grid = grid_for(source, kThreads);
  by_number(source, [&]<class T>(const T* from) {
    add_to_diagonal<T>
        <<<grid, kThreads, 0, stream>>>(from, static_cast<T*>(target), side, source.stride, value);
  });
  check_launch("add_to_diagonal");
}

}  // namespace muonbench::cuda
