// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/backend/cuda/cuda_check.h"
#include "src/backend/cuda/launch.h"
#include "src/backend/cuda/symmetric_kernels.h"
#include "src/backend/cuda/symmetric_store.cuh"
#include "src/backend/cuda/symmetric_work.cuh"
#include "src/backend/cuda/wgmma.cuh"
#include "src/base/error.h"

namespace muonbench::cuda {
namespace {

template <class S, Major kMajor>
__device__ void load(const CUtensorMap& operand, const CUtensorMap& other, const Work& work, Ring<S> ring) {
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles_in_all;
       tile += static_cast<int>(gridDim.x)) {
    const Place place = place_of<S>(work, tile);
    for (int step = 0; step < work.steps; ++step) {
      wait_for(ring.empty + 8 * ring.stage, ring.parity ^ 1U);
      const std::uint32_t full = ring.full + 8 * ring.stage;
      expect_bytes(full, S::kStageBytes);
#pragma unroll
      for (int box = 0; box < S::kRows + S::kColumns; ++box) {
        const bool is_row = box < S::kRows;
        const int along = (is_row ? place.row + box : place.column + box - S::kRows) * kBoxSide;
        const int summed = step * kBoxSide;
        load_box(ring.at(box), is_row ? operand : other, full, kMajor == Major::kSummed ? summed : along,
                 kMajor == Major::kSummed ? along : summed, place.matrix);
      }
      ring.next();
    }
  }
}

/// products(offset) for each 16 numbers that the sums of a tile go over, at that offset in the boxes of the
/// ring's stage; then over() with the last of them running. A stage is free again once the products that read
/// it are done.
template <class S, Major kMajor, class Products, class Over>
__device__ __forceinline__ void over_steps(Ring<S>& ring, int steps, const Warpgroup& self, Products products,
                                           Over over) {
  int last = -1;
  for (int step = 0; step < steps; ++step) {
    wait_for(ring.full + 8 * ring.stage, ring.parity);
    begin_products();
#pragma unroll
    for (int k = 0; k < kBoxSide / 16; ++k) products(summed_offset<kMajor>(k));
    end_products();
    wait_for_products<1>();
    if (last >= 0 && self.leads) arrive(ring.empty + 8 * last);
    last = ring.stage;
    ring.next();
  }
  over();
  wait_for_products<0>();
  if (self.leads) arrive(ring.empty + 8 * last);
}

template <int kCount>
struct Sums {
  float of[kCount];
  __device__ __forceinline__ Sums() {
#pragma unroll
    for (float& sum : of) sum = 0.0F;
  }
};

/// A whole tile for one warpgroup. Of the first row of boxes kFirst columns are multiplied: on the diagonal
/// the second lies above it.
template <class T, class S, Major kMajor, int kFirst>
__device__ __forceinline__ void tile_in_turn(const CUtensorMap& result, const Work& work, Place place,
                                             Ring<S>& ring, const Warpgroup& self) {
  Sums<4 * 32> sums;
  // The other's loads come first in the ring, and a barrier's phases are told apart by parity alone.
  sync_part<kMultiplying * kWarpgroup>(kTurn + self.index);
  over_steps<S, kMajor>(
      ring, work.steps, self,
      [&](std::uint32_t offset) {
        const std::uint64_t columns = describe_operand(ring.at(S::kRows) + offset);
        multiply<T, kFirst * kBoxSide, kMajor>(sums.of, describe_operand(ring.at(0) + offset), columns);
        multiply<T, 2 * kBoxSide, kMajor>(sums.of + 64, describe_operand(ring.at(1) + offset), columns);
      },
      [&] { arrive_part<kMultiplying * kWarpgroup>(kTurn + 1 - self.index); });
  sums_are_done(sums.of);
  finish<T, 2, 2>(result, work, sums.of, place, self);
}

template <class T, class S, Major kMajor>
__device__ __forceinline__ void take_turns(const CUtensorMap& result, const Work& work, Ring<S> ring,
                                           const Warpgroup& self) {
  if (self.index == 1) arrive_part<kMultiplying * kWarpgroup>(kTurn);
  const int stride = static_cast<int>(gridDim.x);
  int count = self.index;
  for (int tile = static_cast<int>(blockIdx.x) + count * stride; tile < work.tiles_in_all;
       tile += kMultiplying * stride, count += kMultiplying) {
    const Place place = place_of<S>(work, tile);
    ring.skip_to(count * work.steps);
    if (place.row == place.column)
      tile_in_turn<T, S, kMajor, 1>(result, work, place, ring, self);
    else
      tile_in_turn<T, S, kMajor, 2>(result, work, place, ring, self);
  }
}

/// Nothing of a tile: the other still needs its loads, and the loader hears of both. One thread waits, for no
/// thread may fall behind the ring, nor run ahead of it.
template <class S>
__device__ __forceinline__ void idle(Ring<S>& ring, int steps, const Warpgroup& self) {
  for (int step = 0; step < steps; ++step, ring.next()) {
    if (!self.leads) continue;
    wait_for(ring.full + 8 * ring.stage, ring.parity);
    arrive(ring.empty + 8 * ring.stage);
  }
  __syncwarp();
  self.sync();
}

/// A row of boxes of a tile for one warpgroup, kColumns of them.
template <class T, class S, Major kMajor, int kColumns>
__device__ __forceinline__ void row_of_tile(const CUtensorMap& result, const Work& work, Place place,
                                            Ring<S>& ring, const Warpgroup& self) {
  Sums<kColumns * 32> sums;
  over_steps<S, kMajor>(
      ring, work.steps, self,
      [&](std::uint32_t offset) {
        multiply<T, kColumns * kBoxSide, kMajor>(sums.of, describe_operand(ring.at(self.index) + offset),
                                                 describe_operand(ring.at(S::kRows) + offset));
      },
      [] {});
  sums_are_done(sums.of);
  finish<T, 1, kColumns>(result, work, sums.of, place, self);
}

template <class T, class S, Major kMajor>
__device__ __forceinline__ void work_together(const CUtensorMap& result, const Work& work, Ring<S> ring,
                                              const Warpgroup& self) {
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles_in_all;
       tile += static_cast<int>(gridDim.x)) {
    Place place = place_of<S>(work, tile);
    place.row += self.index;
    const int wanted = place.row * kBoxSide < work.side ? place.row - place.column + 1 : 0;
    if (wanted >= 3)
      row_of_tile<T, S, kMajor, 3>(result, work, place, ring, self);
    else if (wanted == 2)
      row_of_tile<T, S, kMajor, 2>(result, work, place, ring, self);
    else if (wanted == 1)
      row_of_tile<T, S, kMajor, 1>(result, work, place, ring, self);
    else
      idle(ring, work.steps, self);
  }
}

template <class T, SymmetricKernel kKernel, Major kMajor>
__global__ void __launch_bounds__(kThreads, 1)
    symmetric_product(const __grid_constant__ CUtensorMap operand, const __grid_constant__ CUtensorMap other,
                      const __grid_constant__ CUtensorMap result, const Work work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using S = Sizes<kKernel>;
  constexpr bool kInTurns = kKernel == SymmetricKernel::kInTurns;
  extern __shared__ unsigned char shared[];
  const std::uint32_t data = (shared_address(shared) + kAlignment - 1) / kAlignment * kAlignment;
  const std::uint32_t buffers = data + S::kStages * S::kStageBytes;
  const std::uint32_t barriers = buffers + kMultiplying * kBuffers * kBoxBytes;
  const Ring<S> ring{data, barriers, barriers + 8 * S::kStages};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < S::kStages; ++stage) {
      init_barrier(ring.full + 8 * stage, 1);
      init_barrier(ring.empty + 8 * stage, kInTurns ? 1 : kMultiplying);
    }
    barriers_are_made();
  }
  __syncthreads();
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == kMultiplying) {
    give_registers<40>();
    if (threadIdx.x == kMultiplying * kWarpgroup) load<S, kMajor>(operand, other, work, ring);
  } else {
    take_registers<232>();
    const Warpgroup self{warpgroup, static_cast<int>(threadIdx.x) % kWarpgroup / 32,
                         static_cast<int>(threadIdx.x) % 32, threadIdx.x % kWarpgroup == 0,
                         buffers + warpgroup * kBuffers * kBoxBytes};
    if constexpr (kInTurns)
      take_turns<T, S, kMajor>(result, work, ring, self);
    else
      work_together<T, S, kMajor>(result, work, ring, self);
    if (self.leads) wait_for_stores();
  }
#endif
}

// What machine code has: 90a's alone has the instructions.
__device__ int built_for_90a =
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    1;
#else
    0;
#endif

template <class T, SymmetricKernel kKernel, Major kMajor>
void launch(const SymmetricLaunch& what, int multiprocessors, cudaStream_t stream) {
  const int tiles = what.tiles_of_matrix * what.batch;
  symmetric_product<T, kKernel, kMajor>
      <<<grid_of(std::min(tiles, multiprocessors)), kThreads, Sizes<kKernel>::kSharedBytes, stream>>>(
          what.operand, what.other, what.result,
          Work{what.tiles, what.tiles_of_matrix, tiles, what.steps, what.side, what.alpha, what.beta,
               what.addend, what.addend_stride});
  check_launch("symmetric_product");
}

template <class T, SymmetricKernel kKernel>
void launch(const SymmetricLaunch& what, int multiprocessors, cudaStream_t stream) {
  if (what.summed_over_rows)
    launch<T, kKernel, Major::kOther>(what, multiprocessors, stream);
  else
    launch<T, kKernel, Major::kSummed>(what, multiprocessors, stream);
}

template <class T>
void launch(const SymmetricLaunch& what, int multiprocessors, cudaStream_t stream) {
  using enum SymmetricKernel;
  switch (what.kernel) {
    case kInTurns: launch<T, kInTurns>(what, multiprocessors, stream); return;
    case kTogether: launch<T, kTogether>(what, multiprocessors, stream); return;
  }
}

template <class T, SymmetricKernel kKernel>
void allow_shared_memory() {
  const auto allow = [](auto kernel) {
    MUONBENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        Sizes<kKernel>::kSharedBytes));
  };
  allow(symmetric_product<T, kKernel, Major::kSummed>);
  allow(symmetric_product<T, kKernel, Major::kOther>);
}

}  // namespace

void launch_symmetric(const SymmetricLaunch& what, int multiprocessors, cudaStream_t stream) {
  switch (what.number) {
    case Number::kBf16: launch<__nv_bfloat16>(what, multiprocessors, stream); return;
    case Number::kFp16: launch<__half>(what, multiprocessors, stream); return;
    case Number::kFp32: throw RuntimeFailure("symmetric products are of bf16 or fp16, got fp32");
  }
}

void prepare_symmetric_kernels() {
  using enum SymmetricKernel;
  allow_shared_memory<__nv_bfloat16, kInTurns>();
  allow_shared_memory<__nv_bfloat16, kTogether>();
  allow_shared_memory<__half, kInTurns>();
  allow_shared_memory<__half, kTogether>();
}

bool has_symmetric_kernels() {
  int built = 0;
  MUONBENCH_CUDA(cudaMemcpyFromSymbol(&built, built_for_90a, sizeof built));
  return built != 0;
}

}  // namespace muonbench::cuda
