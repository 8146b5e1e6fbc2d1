// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "src/backend/cuda/hopper.cuh"
#include "src/backend/cuda/symmetric_work.cuh"

/// What becomes of a symmetric product's sums: an addend, one rounding, and two places in memory.
namespace muonbench::cuda {

/// The addend of a box where this thread has sums.
struct Addend16 {
  std::uint32_t pairs[16];
};
__device__ __forceinline__ Addend16 load_addend(const Work& work, int matrix, int box_row, int box_column,
                                                const Warpgroup& self) {
  Addend16 loaded = {};
  if (work.beta == 0.0F) return loaded;
  // Rows past the end are not stored, whatever is added to them.
  const int row = box_row * kBoxSide + self.warp * 16 + self.lane / 4, last = work.side - 1;
  const std::uint16_t* from = static_cast<const std::uint16_t*>(work.addend) + matrix * work.addend_stride +
                              box_column * kBoxSide + self.lane % 4 * 2;
  const auto* upper = reinterpret_cast<const std::uint32_t*>(from + std::int64_t{min(row, last)} * work.side);
  const auto* lower =
      reinterpret_cast<const std::uint32_t*>(from + std::int64_t{min(row + 8, last)} * work.side);
  const int groups_of_8 = work.side / 8 - box_column * (kBoxSide / 8);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i >= groups_of_8) break;
    loaded.pairs[2 * i] = upper[4 * i];
    loaded.pairs[2 * i + 1] = lower[4 * i];
  }
  return loaded;
}

/// Two numbers of T in a word, the first in its lower half, and back.
template <class T>
__device__ __forceinline__ std::uint32_t packed(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  } else {
    const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  }
}
template <class T>
__device__ __forceinline__ float2 unpacked(std::uint32_t pair) {
  if constexpr (std::is_same_v<T, __half>)
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  else
    return make_float2(__uint_as_float(pair << 16U), __uint_as_float(pair & 0xFFFF0000U));
}

/// alpha * sums + beta * addend, as pairs.
template <class T>
__device__ __forceinline__ void round_box(const Work& work, const float* sums, const Addend16& addend,
                                          std::uint32_t* pairs) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    float low = sums[2 * i], high = sums[2 * i + 1];
    if (work.beta != 0.0F) {
      const float2 c = unpacked<T>(addend.pairs[i]);
      low = __fmaf_rn(work.alpha, low, work.beta * c.x);
      high = __fmaf_rn(work.alpha, high, work.beta * c.y);
    } else {
      low *= work.alpha;
      high *= work.alpha;
    }
    pairs[i] = packed<T>(low, high);
  }
}

/// The place of element (row, column) in a box as the copy engine swizzles it.
__device__ __forceinline__ std::uint32_t in_box(int row, int column) {
  return static_cast<std::uint32_t>(row * 128 + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2);
}

/// In a box on the diagonal, what is above it <- what is below it.
__device__ __forceinline__ void mirror_box(std::uint32_t box, const Warpgroup& self) {
#pragma unroll 1
  for (int i = self.warp * 32 + self.lane; i < kBoxSide * kBoxSide; i += kWarpgroup) {
    const int row = i / kBoxSide, column = i % kBoxSide;
    if (column <= row) continue;
    std::uint16_t bits = 0;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(box + in_box(column, row)) : "memory");
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(box + in_box(row, column)), "h"(bits) : "memory");
  }
}

/// A box and its mirror image, or one on the diagonal.
__device__ __forceinline__ void store(const CUtensorMap& result, const std::uint32_t* pairs, int matrix,
                                      int box_row, int box_column, const Warpgroup& self) {
  const std::uint32_t direct = self.buffer, mirrored = self.buffer + kBoxBytes;
  const int lane = self.lane, first_row = self.warp * 16;
  if (self.leads) wait_for_stores_to_read();
  self.sync();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // Lane l names row l % 8 of matrix l / 8: rows 0 and 8 of columns 16 i, then of 16 i + 8.
    const int rows = first_row + lane / 8 % 2 * 8, columns = 16 * i + lane / 16 * 8;
    store_matrices(direct + in_box(rows + lane % 8, columns), pairs + 4 * i);
    if (box_row != box_column) store_transposed(mirrored + in_box(columns + lane % 8, rows), pairs + 4 * i);
  }
  if (box_row == box_column) {
    self.sync();
    mirror_box(direct, self);
  }
  publish_shared();
  self.sync();
  if (!self.leads) return;
  store_box(result, direct, box_column * kBoxSide, box_row * kBoxSide, matrix);
  if (box_row != box_column) store_box(result, mirrored, box_row * kBoxSide, box_column * kBoxSide, matrix);
  commit_stores();
}

/// kRows x kColumns boxes of sums, of which those on or below the diagonal and inside the matrix are stored.
template <class T, int kRows, int kColumns>
__device__ __forceinline__ void finish(const CUtensorMap& result, const Work& work, const float* sums,
                                       Place place, const Warpgroup& self) {
  Addend16 addend = load_addend(work, place.matrix, place.row, place.column, self);
#pragma unroll
  for (int box = 0; box < kRows * kColumns; ++box) {
    const int row = place.row + box / kColumns, column = place.column + box % kColumns;
    std::uint32_t pairs[16];
    round_box<T>(work, sums + box * 32, addend, pairs);
    // On its way while this box is stored.
    if (box + 1 < kRows * kColumns)
      addend = load_addend(work, place.matrix, place.row + (box + 1) / kColumns,
                           place.column + (box + 1) % kColumns, self);
    if (column <= row && row * kBoxSide < work.side) store(result, pairs, place.matrix, row, column, self);
  }
}

}  // namespace muonbench::cuda
