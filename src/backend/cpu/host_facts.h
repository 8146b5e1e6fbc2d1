// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/base/strong.h"

namespace muonbench::cpu {

/// "model name" of the first processor, or "unknown processor".
[[nodiscard]] std::string processor_name();

/// Memory of this machine.
[[nodiscard]] Bytes total_memory();

/// What may still be allocated without swapping: the machine's estimate, or the rest of this process's
/// control group (v2) where that is less.
[[nodiscard]] Bytes available_memory();

}  // namespace muonbench::cpu
