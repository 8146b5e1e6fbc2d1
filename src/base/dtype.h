// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "src/base/strong.h"

namespace muonbench {

enum class DType { kFp32, kBf16 };

[[nodiscard]] constexpr Bytes size_of(DType dtype) {
  switch (dtype) {
    case DType::kFp32: return Bytes(4);
    case DType::kBf16: return Bytes(2);
  }
  return Bytes(0);
}

[[nodiscard]] constexpr Bytes bytes_of(Elements n, DType dtype) { return size_of(dtype) * n.value(); }

/// The upper half of an fp32, rounded to nearest even; a NaN stays a (quiet) NaN.
[[nodiscard]] constexpr std::uint16_t bf16_from_fp32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

[[nodiscard]] constexpr float fp32_from_bf16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

/// The fp32 number that a store to bf16 and a load back leave behind.
[[nodiscard]] constexpr float round_to_bf16(float value) { return fp32_from_bf16(bf16_from_fp32(value)); }

/// The fp16 number nearest to an fp32, ties to even, as fp32: 11 bits down to 2^-14, multiples of 2^-24
/// below; infinite from 65520 on. A NaN stays one.
[[nodiscard]] constexpr float round_to_fp16(float value) {
  constexpr std::uint32_t kSign = 0x80000000U, kDropped = 13;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & kSign, magnitude = bits & ~kSign;
  // In [0.5, 1) fp32 numbers are 2^-24 apart.
  const float small = (std::bit_cast<float>(magnitude) + 0.5F) - 0.5F;
  const std::uint32_t rounded = (magnitude + 0xfffU + ((magnitude >> kDropped) & 1U)) >> kDropped << kDropped;
  const float large =
      rounded > 0x477fe000U ? std::bit_cast<float>(0x7f800000U) : std::bit_cast<float>(rounded);
  const float normal = magnitude < 0x38800000U ? small : large;
  const float number = magnitude > 0x7f800000U ? value : normal;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) | sign);
}

}  // namespace muonbench
