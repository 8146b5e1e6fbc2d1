// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/check.h"

namespace muonbench::detail {

void check_failed(const char* expression, const char* file, int line, const std::string& values) {
  throw RuntimeFailure(text("{}:{}: check failed: {}: {}", file, line, expression, values));
}

}  // namespace muonbench::detail
