// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_fp16.h>

#include "src/base/dtype.h"

namespace muonbench::cuda {

/// W numbers that travel together, in registers: indexed by constants after unrolling.
template <int W>
struct Vector {
  float values[W];
  __device__ float& operator[](int w) { return values[w]; }
  __device__ float operator[](int w) const { return values[w]; }
};

template <class... Pointers>
__device__ bool aligned16(Pointers... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) | ...) & 15U) == 0;
}
template <class... Pointers>
__device__ bool aligned8(Pointers... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) | ...) & 7U) == 0;
}

/// Loads and stores of W elements in one access; W = 4 asks for 16-byte (fp32) or 8-byte (bf16, fp16)
/// alignment.
template <int W>
__device__ Vector<W> load_vector(const float* from) {
  static_assert(W == 1 || W == 4);
  if constexpr (W == 4) {
    const float4 loaded = *reinterpret_cast<const float4*>(from);
    return {loaded.x, loaded.y, loaded.z, loaded.w};
  } else {
    return {*from};
  }
}

template <int W>
__device__ void store_vector(float* to, const Vector<W>& v) {
  if constexpr (W == 4)
    *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
  else
    *to = v[0];
}

__device__ inline std::uint32_t packed_bf16(float low, float high) {
  return static_cast<std::uint32_t>(bf16_from_fp32(low)) |
         (static_cast<std::uint32_t>(bf16_from_fp32(high)) << 16U);
}

template <int W>
__device__ void store_bf16(std::uint16_t* to, const Vector<W>& v) {
  if constexpr (W == 4)
    *reinterpret_cast<uint2*>(to) = make_uint2(packed_bf16(v[0], v[1]), packed_bf16(v[2], v[3]));
  else
    *to = bf16_from_fp32(v[0]);
}

template <int W>
__device__ Vector<W> load_bf16(const std::uint16_t* from) {
  if constexpr (W == 4) {
    const uint2 loaded = *reinterpret_cast<const uint2*>(from);
    return {fp32_from_bf16(static_cast<std::uint16_t>(loaded.x)),
            fp32_from_bf16(static_cast<std::uint16_t>(loaded.x >> 16U)),
            fp32_from_bf16(static_cast<std::uint16_t>(loaded.y)),
            fp32_from_bf16(static_cast<std::uint16_t>(loaded.y >> 16U))};
  } else {
    return {fp32_from_bf16(*from)};
  }
}

template <int W>
__device__ void store_fp16(__half* to, const Vector<W>& v) {
  if constexpr (W == 4) {
    const __half2 low = __floats2half2_rn(v[0], v[1]), high = __floats2half2_rn(v[2], v[3]);
    *reinterpret_cast<uint2*>(to) = make_uint2(*reinterpret_cast<const std::uint32_t*>(&low),
                                               *reinterpret_cast<const std::uint32_t*>(&high));
  } else {
    *to = __float2half_rn(v[0]);
  }
}

template <int W>
__device__ Vector<W> load_fp16(const __half* from) {
  if constexpr (W == 4) {
    const uint2 loaded = *reinterpret_cast<const uint2*>(from);
    const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&loaded.x));
    const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&loaded.y));
    return {low.x, low.y, high.x, high.y};
  } else {
    return {__half2float(*from)};
  }
}

}  // namespace muonbench::cuda
