// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench::detail {
[[noreturn]] void check_failed(const char* expression, const char* file, int line, const std::string& values);
}  // namespace muonbench::detail

/// An invariant of the program itself, kept in every build. On failure: RuntimeFailure with the expression,
/// the place and the values named in the message. Never put anything with an effect into `condition`.
#define MUONBENCH_CHECK(condition, ...)                                                                  \
  do {                                                                                                   \
    if (!(condition)) [[unlikely]]                                                                       \
      ::muonbench::detail::check_failed(#condition, __FILE__, __LINE__, ::muonbench::text(__VA_ARGS__)); \
  } while (false)
