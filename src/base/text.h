// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace muonbench {

/// fmt::format under the project's name. Output never depends on the locale.
template <class... Args>
[[nodiscard]] std::string text(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::vformat(format, fmt::make_format_args(args...));
}

/// "a, b, c"; `quote` puts single quotes around each.
enum class Quote { kNone, kSingle };
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view between = ", ",
                               Quote quote = Quote::kNone);

/// The candidate that `word` most likely means: a misspelling, a plural or a first part of it. Empty if none
/// is near.
[[nodiscard]] std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace muonbench
