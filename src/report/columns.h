// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Text in columns, and numbers short enough to be read in them.
namespace muonbench {

/// kLeft for words, kRight for numbers.
enum class Align { kLeft, kRight };

struct ColumnHead {
  std::string name;
  std::string unit;  ///< "(MiB)"; empty if it has none
  Align align = Align::kRight;
};

/// Names, units under them, then `rows`, each as wide as its widest cell, two blanks between. `rows` hold a
/// cell per head.
[[nodiscard]] std::string in_columns(const std::vector<ColumnHead>& heads,
                                     const std::vector<std::vector<std::string>>& rows);

/// Four significant digits at least, all digits before the point; "-" if unknown or not finite.
[[nodiscard]] std::string short_number(std::optional<double> value);

[[nodiscard]] std::string in_mib(std::optional<std::int64_t> bytes);
[[nodiscard]] std::string in_ms(std::optional<double> seconds);
[[nodiscard]] std::string in_gflop(std::optional<std::int64_t> flops);

}  // namespace muonbench
