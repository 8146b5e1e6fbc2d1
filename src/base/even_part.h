// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace muonbench {

/// How many of `total` the one of `index` gets when they are dealt out to `parts` as evenly as whole numbers
/// allow: the first get one more.
[[nodiscard]] constexpr std::int64_t even_part(std::int64_t total, int parts, int index) {
  return total / parts + (index < total % parts ? 1 : 0);
}

}  // namespace muonbench
