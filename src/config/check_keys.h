// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/config/key_path.h"

namespace muonbench {

/// Throws ConfigError for a key that no table has (nearest name, or where the name is at home, or the names
/// that may stand there) and for a value in whose place only an object can be.
void require_known_keys(const Document& document);

}  // namespace muonbench
