// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/version.h"

namespace muonbench {

std::string_view version() { return "0.1.0"; }

std::string_view compiler() {
#ifdef __clang__
  return __VERSION__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace muonbench
