// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace muonbench {

/// Bijective 64-bit mixer (the finaliser of SplitMix64, Steele et al. 2014, constants by D. Stafford).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// Order-dependent combination of two values.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

/// Collects values in order into one 64-bit fingerprint. Equal inputs in equal order give equal results on
/// any machine.
class Fingerprint {
 public:
  Fingerprint& add(std::uint64_t value) {
    state_ = mix(state_, value);
    return *this;
  }
  Fingerprint& add(std::int64_t value) { return add(static_cast<std::uint64_t>(value)); }
  Fingerprint& add(int value) { return add(static_cast<std::uint64_t>(value)); }
  Fingerprint& add(std::string_view value) {
    add(static_cast<std::uint64_t>(value.size()));
    for (const char c : value) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace muonbench
