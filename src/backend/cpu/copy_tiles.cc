// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/copy_tiles.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "src/backend/cpu/elementwise.h"

namespace muonbench::cpu {
namespace {

void copy_row(const BoundTile& tile, std::int64_t row) {
  const auto* src = static_cast<const std::byte*>(tile.src) +
                    row * bytes_of(Elements(tile.src_stride), tile.src_dtype).value();
  auto* dst =
      static_cast<std::byte*>(tile.dst) + row * bytes_of(Elements(tile.dst_stride), tile.dst_dtype).value();
  const std::int64_t n = tile.shape.cols;
  if (tile.src_dtype == tile.dst_dtype)
    std::memmove(dst, src, static_cast<std::size_t>(bytes_of(Elements(n), tile.src_dtype).value()));
  else if (tile.dst_dtype == DType::kBf16)
    bf16_from_fp32(reinterpret_cast<std::uint16_t*>(dst), reinterpret_cast<const float*>(src), n);
  else
    fp32_from_bf16(reinterpret_cast<float*>(dst), reinterpret_cast<const std::uint16_t*>(src), n);
}

}  // namespace

void copy_tiles(const BoundCopy& work) {
  for (const BoundTile& tile : work.tiles)
    for (std::int64_t row = 0; row < tile.shape.rows; ++row) copy_row(tile, row);
}

}  // namespace muonbench::cpu
