// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/linked_backend.h"

namespace muonbench {

std::vector<LinkedBackend> backend_table() { return {cpu_backend()}; }

}  // namespace muonbench
