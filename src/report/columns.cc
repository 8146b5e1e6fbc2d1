// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/report/columns.h"

#include <algorithm>
#include <cmath>

#include "src/base/check.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

constexpr double kMebi = 1024.0 * 1024.0;

std::optional<double> scaled(std::optional<double> value, double factor) {
  if (!value) return std::nullopt;
  return *value * factor;
}

std::optional<double> as_double(std::optional<std::int64_t> value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string blanks(width - std::min(width, cell.size()), ' ');
  return align == Align::kLeft ? cell + blanks : blanks + cell;
}

}  // namespace

std::string in_columns(const std::vector<ColumnHead>& heads,
                       const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> lines(2);
  for (const ColumnHead& head : heads) {
    lines[0].push_back(head.name);
    lines[1].push_back(head.unit);
  }
  lines.insert(lines.end(), rows.begin(), rows.end());
  std::vector<std::size_t> widths(heads.size());
  for (const auto& line : lines) {
    MUONBENCH_CHECK(line.size() == heads.size(), "{} cells under {} heads", line.size(), heads.size());
    for (std::size_t c = 0; c < heads.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < heads.size(); ++c)
      row += (c == 0 ? "" : "  ") + padded(line[c], widths[c], heads[c].align);
    out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string short_number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "-";
  const double size = std::abs(*value);
  if (size == 0.0) return "0";
  if (size < 0.001) return text("{:.1e}", *value);
  if (size < 9.9995) return text("{:.3f}", *value);
  if (size < 99.995) return text("{:.2f}", *value);
  if (size < 999.95) return text("{:.1f}", *value);
  return text("{:.0f}", *value);
}

std::string in_mib(std::optional<std::int64_t> bytes) {
  return short_number(scaled(as_double(bytes), 1.0 / kMebi));
}
std::string in_ms(std::optional<double> seconds) { return short_number(scaled(seconds, 1e3)); }
std::string in_gflop(std::optional<std::int64_t> flops) {
  return short_number(scaled(as_double(flops), 1e-9));
}

}  // namespace muonbench
