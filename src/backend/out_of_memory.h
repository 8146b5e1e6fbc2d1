// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "src/base/memory_use.h"
#include "src/base/strong.h"

namespace muonbench {

/// Bytes by use, in the order of kAllMemoryUses.
using BytesByUse = std::array<Bytes, kAllMemoryUses.size()>;

/// "weights 12, adam 48"; "nothing" if all are 0.
[[nodiscard]] std::string described(const BytesByUse& bytes);

/// What a user may change so that a rank needs less of a use.
[[nodiscard]] std::string_view remedy_for(MemoryUse use);

/// Throws RuntimeFailure with the use, what was asked for, what there is, what the device holds already, and
/// the remedy. Who catches it knows the rank.
[[noreturn]] void fail_allocation(MemoryUse use, Bytes asked, Bytes available, const BytesByUse& held);

}  // namespace muonbench
