// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/backend/cuda/hopper.cuh"
#include "src/backend/cuda/symmetric_tiles.h"

/// Who does what in a thread block of a symmetric product, and where it lies in shared memory.
namespace muonbench::cuda {

// One thread of a third warpgroup loads boxes into a ring of stages; two warpgroups multiply and store.
constexpr int kWarpgroup = 128, kMultiplying = 2, kThreads = (kMultiplying + 1) * kWarpgroup;
constexpr int kBoxBytes = kBoxSide * kBoxSide * 2;
constexpr int kBuffers = 2;       // of a multiplying warpgroup, to store from: a box and its mirror image
constexpr int kAlignment = 1024;  // of a swizzled box

// Barriers of parts of a block.
constexpr int kOfWarpgroup = 1, kTurn = kOfWarpgroup + kMultiplying;

template <SymmetricKernel kKernel>
struct Sizes {
  static constexpr int kRows = tile_boxes(kKernel).rows, kColumns = tile_boxes(kKernel).columns;
  static constexpr int kStages = kKernel == SymmetricKernel::kInTurns ? 6 : 4;
  static constexpr int kStageBytes = (kRows + kColumns) * kBoxBytes;
  static constexpr int kSharedBytes =
      kAlignment + kStages * kStageBytes + kMultiplying * kBuffers * kBoxBytes + 2 * kStages * 8;
};

/// What a launch says, but for the tensor maps.
struct Work {
  const SymmetricTiles::Tile* tiles;
  int tiles_of_matrix, tiles_in_all, steps, side;
  float alpha, beta;
  const void* addend;
  std::int64_t addend_stride;
};

/// A tile of a matrix, in boxes.
struct Place {
  int matrix, row, column;
};

template <class S>
__device__ __forceinline__ Place place_of(const Work& work, int tile) {
  const SymmetricTiles::Tile at = work.tiles[tile % work.tiles_of_matrix];
  return {tile / work.tiles_of_matrix, at.row * S::kRows, at.column * S::kColumns};
}

/// The stages, as one who takes them in turn sees them.
template <class S>
struct Ring {
  std::uint32_t data, full, empty;
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void skip_to(int count) {
    stage = count % S::kStages;
    parity = static_cast<std::uint32_t>(count / S::kStages) & 1U;
  }
  __device__ __forceinline__ void next() {
    if (++stage == S::kStages) {
      stage = 0;
      parity ^= 1U;
    }
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t at(int box) const {
    return data + stage * S::kStageBytes + box * kBoxBytes;
  }
};

/// A warpgroup that multiplies.
struct Warpgroup {
  int index, warp, lane;
  bool leads;  ///< one thread of it
  std::uint32_t buffer;

  __device__ __forceinline__ void sync() const { sync_part<kWarpgroup>(kOfWarpgroup + index); }
};

}  // namespace muonbench::cuda
