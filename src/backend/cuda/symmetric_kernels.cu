// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/backend/cuda/cuda_check.h"
#include "src/backend/cuda/launch.h"
#include "src/backend/cuda/symmetric_kernels.h"
#include "src/backend/cuda/symmetric_store.cuh"
#include "src/backend/cuda/symmetric_work.cuh"
#include "src/backend/cuda/wgmma.cuh"

namespace muonbench::cuda {
namespace {

template <class S, Major kMajor>
__device__ void load(const CUtensorMap& operand, const Work& work, Ring<S> ring) {
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles_in_all;
       tile += static_cast<int>(gridDim.x)) {
    const Place place = place_of<S>(work, tile);
    for (int step = 0; step < work.steps; ++step) {
      wait_for(ring.empty + 8 * ring.stage, ring.parity ^ 1U);
      const std::uint32_t full = ring.full + 8 * ring.stage;
      expect_bytes(full, S::kStageBytes);
#pragma unroll
      for (int box = 0; box < S::kRows + S::kColumns; ++box) {
        const int other = (box < S::kRows ? place.row + box : place.column + box - S::kRows) * kBoxSide;
        const int summed = step * kBoxSide;
        load_box(ring.at(box), operand, full, kMajor == Major::kSummed ? summed : other,
                 kMajor == Major::kSummed ? other : summed, place.matrix);
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
template <class S, Major kMajor, int kFirst>
__device__ __forceinline__ void tile_in_turn(const CUtensorMap& result, const Work& work, Place place,
                                             Ring<S>& ring, const Warpgroup& self) {
  Sums<4 * 32> sums;
  // The other's loads come first in the ring, and a barrier's phases are told apart by parity alone.
  sync_part<kMultiplying * kWarpgroup>(kTurn + self.index);
  over_steps<S, kMajor>(
      ring, work.steps, self,
      [&](std::uint32_t offset) {
        const std::uint64_t columns = describe_operand(ring.at(S::kRows) + offset);
        multiply<kFirst * kBoxSide, kMajor>(sums.of, describe_operand(ring.at(0) + offset), columns);
        multiply<2 * kBoxSide, kMajor>(sums.of + 64, describe_operand(ring.at(1) + offset), columns);
      },
      [&] { arrive_part<kMultiplying * kWarpgroup>(kTurn + 1 - self.index); });
  sums_are_done(sums.of);
  finish<2, 2>(result, work, sums.of, place, self);
}

template <class S, Major kMajor>
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
      tile_in_turn<S, kMajor, 1>(result, work, place, ring, self);
    else
      tile_in_turn<S, kMajor, 2>(result, work, place, ring, self);
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
template <class S, Major kMajor, int kColumns>
__device__ __forceinline__ void row_of_tile(const CUtensorMap& result, const Work& work, Place place,
                                            Ring<S>& ring, const Warpgroup& self) {
  Sums<kColumns * 32> sums;
  over_steps<S, kMajor>(
      ring, work.steps, self,
      [&](std::uint32_t offset) {
        multiply<kColumns * kBoxSide, kMajor>(sums.of, describe_operand(ring.at(self.index) + offset),
                                              describe_operand(ring.at(S::kRows) + offset));
      },
      [] {});
  sums_are_done(sums.of);
  finish<1, kColumns>(result, work, sums.of, place, self);
}

template <class S, Major kMajor>
__device__ __forceinline__ void work_together(const CUtensorMap& result, const Work& work, Ring<S> ring,
                                              const Warpgroup& self) {
  for (int tile = static_cast<int>(blockIdx.x); tile < work.tiles_in_all;
       tile += static_cast<int>(gridDim.x)) {
    Place place = place_of<S>(work, tile);
    place.row += self.index;
    const int wanted = place.row * kBoxSide < work.side ? place.row - place.column + 1 : 0;
    if (wanted >= 3)
      row_of_tile<S, kMajor, 3>(result, work, place, ring, self);
    else if (wanted == 2)
      row_of_tile<S, kMajor, 2>(result, work, place, ring, self);
    else if (wanted == 1)
      row_of_tile<S, kMajor, 1>(result, work, place, ring, self);
    else
      idle(ring, work.steps, self);
  }
}

template <SymmetricKernel kKernel, Major kMajor>
__global__ void __launch_bounds__(kThreads, 1)
    symmetric_product(const __grid_constant__ CUtensorMap operand, const __grid_constant__ CUtensorMap result,
                      const Work work) {
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
    if (threadIdx.x == kMultiplying * kWarpgroup) load<S, kMajor>(operand, work, ring);
  } else {
    take_registers<232>();
    const Warpgroup self{warpgroup, static_cast<int>(threadIdx.x) % kWarpgroup / 32,
                         static_cast<int>(threadIdx.x) % 32, threadIdx.x % kWarpgroup == 0,
                         buffers + warpgroup * kBuffers * kBoxBytes};
    if constexpr (kInTurns)
      take_turns<S, kMajor>(result, work, ring, self);
    else
      work_together<S, kMajor>(result, work, ring, self);
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

template <SymmetricKernel kKernel, Major kMajor>
void launch(const SymmetricLaunch& what, int multiprocessors, cudaStream_t stream) {
  const int tiles = what.tiles_of_matrix * what.batch;
  symmetric_product<kKernel, kMajor>
      <<<grid_of(std::min(tiles, multiprocessors)), kThreads, Sizes<kKernel>::kSharedBytes, stream>>>(
          what.operand, what.result,
          Work{what.tiles, what.tiles_of_matrix, tiles, what.steps, what.side, what.alpha, what.beta,
               static_cast<const __nv_bfloat16*>(what.addend), what.addend_stride});
  check_launch("symmetric_product");
}

template <SymmetricKernel kKernel>
void allow_shared_memory() {
  const auto allow = [](auto kernel) {
    MUONBENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        Sizes<kKernel>::kSharedBytes));
  };
  allow(symmetric_product<kKernel, Major::kSummed>);
  allow(symmetric_product<kKernel, Major::kOther>);
}

}  // namespace

void launch_symmetric(const SymmetricLaunch& what, int multiprocessors, cudaStream_t stream) {
  using enum SymmetricKernel;
  switch (what.kernel) {
    case kInTurns:
      what.summed_over_rows ? launch<kInTurns, Major::kOther>(what, multiprocessors, stream)
                            : launch<kInTurns, Major::kSummed>(what, multiprocessors, stream);
      return;
    case kTogether:
      what.summed_over_rows ? launch<kTogether, Major::kOther>(what, multiprocessors, stream)
                            : launch<kTogether, Major::kSummed>(what, multiprocessors, stream);
      return;
  }
}

void prepare_symmetric_kernels() {
  allow_shared_memory<SymmetricKernel::kInTurns>();
  allow_shared_memory<SymmetricKernel::kTogether>();
}

bool has_symmetric_kernels() {
  int built = 0;
  MUONBENCH_CUDA(cudaMemcpyFromSymbol(&built, built_for_90a, sizeof built));
  return built != 0;
}

}  // namespace muonbench::cuda
