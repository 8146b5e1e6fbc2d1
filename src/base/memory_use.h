// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace muonbench {

/// What a byte is for. Every allocation on a device and every buffer of a program has one.
enum class MemoryUse { kWeights, kMaster, kMomentum, kAdam, kGradient, kExchange, kNsScratch };

inline constexpr std::array kAllMemoryUses = {
    MemoryUse::kWeights,  MemoryUse::kMaster,   MemoryUse::kMomentum, MemoryUse::kAdam,
    MemoryUse::kGradient, MemoryUse::kExchange, MemoryUse::kNsScratch};

/// Uses that live within a step: their buffers share arenas. All others last.
inline constexpr std::array kTransientUses = {MemoryUse::kExchange, MemoryUse::kNsScratch};

[[nodiscard]] constexpr std::string_view name_of(MemoryUse use) {
  switch (use) {
    case MemoryUse::kWeights: return "weights";
    case MemoryUse::kMaster: return "master";
    case MemoryUse::kMomentum: return "momentum";
    case MemoryUse::kAdam: return "adam";
    case MemoryUse::kGradient: return "gradient";
    case MemoryUse::kExchange: return "exchange";
    case MemoryUse::kNsScratch: return "ns_scratch";
  }
  return "";
}

}  // namespace muonbench
