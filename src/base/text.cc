// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>

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
  // A third of the letters wrong is a misspelling; more is another word. Nothing longer than a name can be
  // one, and the distance costs a product of lengths.
  constexpr std::size_t kLongestName = 64;
  if (word.size() > kLongestName) return {};
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t bound = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const std::size_t distance = edit_distance(word, candidate);
    if (distance <= bound && distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace muonbench
