// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "src/backend/cuda/cuda_check.h"
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
// Each of these blocks adds up all parts: fewer, larger ones where a matrix has many parts.
constexpr std::int64_t kLargeMatrix = 1 << 24;
constexpr std::int64_t kLargeMatrixBlockElements = 32768;
// What may be read between an element's sum and its normalisation without it leaving the second-level cache.
constexpr std::int64_t kCachedElements = 4 << 20;
constexpr double kSmallestNorm = 1e-15;  // an all-zero matrix stays zero

// A batch dealt out to thread blocks. A matrix's parts, and so its norm's bits, depend on its size alone.
struct NormPlan {
  std::int64_t elements, stride, count;
  std::int64_t parts;               // blocks that sum a matrix
  std::int64_t stretch, stretches;  // elements of a block that writes X; how many there are
  std::int64_t lag;                 // matrices that are summed before the first is written
};

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

// The sum of the squares of every `stride`-th group of 4 elements from `first` on, and of those that fill no
// group on the first thread of all. Which element goes to which sum depends on the matrix's size alone, also
// where its address does not allow 16-byte loads.
__device__ double squares_of(const float* matrix, std::int64_t elements, std::int64_t first,
                             std::int64_t stride) {
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
  if (first == 0)
    for (std::int64_t i = whole; i < elements; ++i) sum += square(matrix[i]);
  return sum;
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

// Where a thread block of bring_in stands: it sums a part of a matrix, or writes a stretch of X.
struct Place {
  std::int64_t matrix;
  std::int64_t index;
  bool sums;
};

// Slot s holds the blocks that sum matrix s, then those that write matrix s - lag.
__device__ Place place_of(const NormPlan& plan, std::int64_t block) {
  const std::int64_t filling = plan.lag * plan.parts;
  if (block < filling) return {block / plan.parts, block % plan.parts, true};
  const std::int64_t steady = (plan.count - plan.lag) * (plan.parts + plan.stretches);
  block -= filling;
  if (block < steady) {
    const std::int64_t slot = block / (plan.parts + plan.stretches),
                       at = block % (plan.parts + plan.stretches);
    if (at < plan.parts) return {plan.lag + slot, at, true};
    return {slot, at - plan.parts, false};
  }
  block -= steady;
  return {plan.count - plan.lag + block / plan.stretches, block % plan.stretches, false};
}

// Numbers the blocks in the order in which they begin, which that of their indices need not be.
__device__ std::int64_t ticket(std::uint32_t* counter) {
  __shared__ std::uint32_t mine;
  if (threadIdx.x == 0) mine = atomicAdd(counter, 1U);
  __syncthreads();
  return mine;
}

// Not before all parts of the matrix are summed up. Blocks that are waited for have lower tickets: they run
// already, or are done.
__device__ double norm_once_summed(const NormPlan& plan, std::int64_t matrix, const double* parts,
                                   std::uint32_t* done) {
  if (threadIdx.x == 0) {
    const volatile std::uint32_t* summed = done + matrix;
    while (*summed < plan.parts) __nanosleep(100);
    __threadfence();
  }
  __syncthreads();
  double sum = 0.0;
  for (std::int64_t i = threadIdx.x; i < plan.parts; i += kThreads)
    sum += __ldcg(parts + matrix * plan.parts + i);
  return sqrt(sum_over_block(sum));
}

template <class T>
__device__ void write_stretch(const NormPlan& plan, const float* matrix, T* x, std::int64_t index,
                              double norm) {
  // Not finite minus itself is NaN: it makes all of X NaN.
  const double inverse = isfinite(norm) ? 1.0 / fmax(norm, kSmallestNorm) : norm - norm;
  // From the end on: what was summed last is in the cache.
  const std::int64_t begin = (plan.stretches - 1 - index) * plan.stretch;
  const std::int64_t end = min(begin + plan.stretch, plan.elements);
  if (!aligned16(matrix)) {
    for_groups<1>(begin, end, [&](std::int64_t i) { normalise_group<1>(matrix, x, i, inverse); });
    return;
  }
  const std::int64_t whole = begin + (end - begin) / 4 * 4;
  for_groups<4>(begin, whole, [&](std::int64_t i) { normalise_group<4>(matrix, x, i, inverse); });
  for_groups<1>(whole, end, [&](std::int64_t i) { normalise_group<1>(matrix, x, i, inverse); });
}

// Sums and writes in one launch, matrix by matrix, so that a matrix is read from memory once where it fits
// the cache.
template <class T>
__global__ void __launch_bounds__(kThreads)
    bring_in(NormPlan plan, const float* const* in, double* parts, std::uint32_t* done, T* x) {
  const Place place = place_of(plan, ticket(done + plan.count));
  const float* matrix = in[place.matrix];
  if (!place.sums) {
    const double norm = norm_once_summed(plan, place.matrix, parts, done);
    write_stretch(plan, matrix, x + place.matrix * plan.stride, place.index, norm);
    return;
  }
  const std::int64_t first = (place.index * kThreads + threadIdx.x) * 4;
  const double sum = sum_over_block(squares_of(matrix, plan.elements, first, plan.parts * kThreads * 4));
  if (threadIdx.x == 0) {
    parts[place.matrix * plan.parts + place.index] = sum;
    __threadfence();
    atomicAdd(done + place.matrix, 1U);
  }
}

template <int W, class T>
__device__ void scale_group(const T* x, float* out, std::int64_t i, float first, float second) {
  Vector<W> v = load<W>(x + i);
  for (int w = 0; w < W; ++w) v[w] = (v[w] * first) * second;
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

dim3 grid_for(const NsBatch& batch, std::int64_t block_elements) {
  return {grid_of((batch.elements + block_elements - 1) / block_elements), static_cast<unsigned>(batch.count),
          1};
}

NormPlan plan_norm(const NsBatch& batch) {
  NormPlan plan{};
  plan.elements = batch.elements;
  plan.stride = batch.stride;
  plan.count = batch.count;
  const std::int64_t parts = (batch.elements + kPartElements - 1) / kPartElements;
  plan.parts = parts < kMostParts ? parts : kMostParts;
  plan.stretch = batch.elements < kLargeMatrix ? kBlockElements : kLargeMatrixBlockElements;
  plan.stretches = (batch.elements + plan.stretch - 1) / plan.stretch;
  const std::int64_t lag = kCachedElements / batch.elements;
  plan.lag = lag < 1 ? 1 : (lag < plan.count ? lag : plan.count);
  return plan;
}

}  // namespace

NormSpace norm_space(const NsBatch& batch) {
  const NormPlan plan = plan_norm(batch);
  return {.parts = plan.parts * plan.count, .counters = plan.count + 1};
}

void launch_normalise(const float* const* in, const NormMemory& memory, const NsBatch& batch,
                      cudaStream_t stream) {
  const NormPlan plan = plan_norm(batch);
  MUONBENCH_CUDA(cudaMemsetAsync(memory.counters, 0,
                                 static_cast<std::size_t>(plan.count + 1) * sizeof(std::uint32_t), stream));
  const unsigned grid = grid_of(plan.count * (plan.parts + plan.stretches));
  switch (batch.storage) {
    case DType::kFp32:
      bring_in<<<grid, kThreads, 0, stream>>>(plan, in, memory.parts, memory.counters,
                                              static_cast<float*>(batch.x));
      break;
    case DType::kBf16:
      bring_in<<<grid, kThreads, 0, stream>>>(plan, in, memory.parts, memory.counters,
                                              static_cast<std::uint16_t*>(batch.x));
      break;
  }
  check_launch("bring_in");
}

void launch_scale_out(float* const* out, const NsBatch& batch, float first, float second,
                      cudaStream_t stream) {
  const dim3 grid = grid_for(batch, kBlockElements);
  switch (batch.storage) {
    case DType::kFp32:
      scale_out<<<grid, kThreads, 0, stream>>>(out, static_cast<const float*>(batch.x), batch.elements,
                                               batch.stride, first, second);
      break;
    case DType::kBf16:
      scale_out<<<grid, kThreads, 0, stream>>>(out, static_cast<const std::uint16_t*>(batch.x),
                                               batch.elements, batch.stride, first, second);
      break;
  }
  check_launch("scale_out");
}

void launch_scaled_copy(const NsBatch& source, void* target, float factor, cudaStream_t stream) {
  const dim3 grid = grid_for(source, kThreads);
  switch (source.storage) {
    case DType::kFp32:
      scaled_copy<<<grid, kThreads, 0, stream>>>(static_cast<const float*>(source.x),
                                                 static_cast<float*>(target), source.elements, source.stride,
                                                 factor);
      break;
    case DType::kBf16:
      scaled_copy<<<grid, kThreads, 0, stream>>>(static_cast<const std::uint16_t*>(source.x),
                                                 static_cast<std::uint16_t*>(target), source.elements,
                                                 source.stride, factor);
      break;
  }
  check_launch("scaled_copy");
}

}  // namespace muonbench::cuda
