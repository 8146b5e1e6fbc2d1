// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/strong.h"

namespace muonbench {

/// Index of a buffer in its program.
struct BufferId {
  int index = -1;
  friend auto operator<=>(BufferId, BufferId) = default;
};

/// Consecutive elements of one buffer.
struct Region {
  BufferId buffer;
  Elements offset;
  Elements size;
  friend auto operator<=>(const Region&, const Region&) = default;
};

}  // namespace muonbench
