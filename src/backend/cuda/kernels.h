// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/backend/cuda/pieces.h"
#include "src/backend/work.h"
#include "src/base/adam_scalars.h"

/// Launches of this backend's own kernels. All pointers are device addresses, tables included; every call
/// enqueues on `stream` and throws RuntimeFailure if the launch fails. No multiply and add are contracted
/// (nvcc -fmad=false), so that elementwise results have the bits of the CPU.
namespace muonbench::cuda {

/// Elements of a piece of elementwise work, and of a tile part.
inline constexpr std::int64_t kPieceElements = 8192;

/// A list of items, cut into pieces.
template <class Item>
struct PieceList {
  const Item* items = nullptr;
  const Piece* pieces = nullptr;
  std::int64_t count = 0;  ///< of pieces
};

/// MomentumRule as the numbers that one element needs.
struct MomentumScalars {
  float decay, l2;
  float rest;      ///< 1 - momentum, of lerp(buf, g, .)
  float momentum;  ///< of lerp(g, buf, .)
  bool nesterov;
};
void launch_momentum(const PieceList<BoundMomentumItem>& list, const MomentumScalars& scalars,
                     cudaStream_t stream);

/// master <- master + (-lr) * update, and its bf16 copy where there is one.
void launch_update(const PieceList<BoundUpdateItem>& list, float lr, cudaStream_t stream);

void launch_adam(const PieceList<BoundAdamItem>& list, const AdamScalars& scalars, DType moments,
                 cudaStream_t stream);

/// A tile as a kernel knows it: sizes of an element in bytes.
struct DeviceTile {
  const void* src;
  void* dst;
  std::int64_t src_stride, dst_stride;
  std::int32_t src_bf16, dst_bf16;
};
void launch_copy(const DeviceTile* tiles, const TilePart* parts, std::int64_t count, cudaStream_t stream);

void launch_fill(const NormalFill& work, cudaStream_t stream);

/// cudaSuccess if this program holds machine code for the current device.
[[nodiscard]] cudaError_t load_kernels();

}  // namespace muonbench::cuda
