// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <optional>

namespace muonbench {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Insertions, deletions, substitutions and swaps of neighbours that turn a into b, regardless of case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_above, above, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

constexpr std::size_t kLongestName = 64;

/// Edit distance, if it is that of a misspelling: a third of the letters wrong; more is another word.
std::optional<std::size_t> misspelling(std::string_view word, std::string_view name) {
  const std::size_t bound = std::max<std::size_t>(1, std::max(word.size(), name.size()) / 3);
  const std::size_t distance = edit_distance(word, name);
  return distance <= bound ? std::optional(distance) : std::nullopt;
}

bool differ_by_plural(const std::string& a, const std::string& b) {
  return edit_distance(a + "s", b) == 0 || edit_distance(a, b + "s") == 0;
}

/// How far `word` is from meaning `name`, in thirds of an error; none if it does not. A forgotten plural and
/// a name of which only the first part is given (gtp for gtp_remat) are nearer than another name by one
/// letter (tp).
std::optional<std::size_t> effort_from(std::string_view word, std::string_view name) {
  constexpr std::size_t kError = 3, kPlural = 1, kRestLeftOut = 2, kShortestPart = 3;
  const std::optional<std::size_t> whole = misspelling(word, name);
  if (whole == 0U) return 0;
  if (differ_by_plural(std::string(word), std::string(name))) return kPlural;
  std::optional<std::size_t> least;
  if (whole) least = kError * *whole;
  const std::size_t end = name.find_first_of("_-.");
  if (end == std::string_view::npos || std::min(end, word.size()) < kShortestPart) return least;
  const std::optional<std::size_t> part = misspelling(word, name.substr(0, end));
  if (!part) return least;
  const std::size_t by_part = kError * *part + kRestLeftOut;
  return least ? std::min(*least, by_part) : by_part;
}

}  // namespace

std::string join(const std::vector<std::string>& parts, std::string_view between, Quote quote) {
  const std::string_view mark = quote == Quote::kSingle ? "'" : "";
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += between;
    joined.append(mark).append(part).append(mark);
  }
  return joined;
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::string nearest;
  // Nothing longer than a name can be one, and a distance costs a product of lengths.
  if (word.empty() || word.size() > kLongestName) return {};
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const std::optional<std::size_t> effort = effort_from(word, candidate);
    if (effort && *effort < least) {
      least = *effort;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace muonbench
