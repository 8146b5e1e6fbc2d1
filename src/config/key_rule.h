// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/config/run_config.h"

/// What the value of a key may be, and where it goes.
namespace muonbench {

struct IntegerRule {
  std::int64_t min = 0;
  std::uint64_t max = 0;
};

enum class Interval { kClosed, kOpenBelow, kOpenAbove };
enum class Precision {
  kDouble,
  kFp32
};  ///< kFp32: the value is used as fp32 and must lie inside after that rounding too
struct NumberRule {
  double min = 0;
  double max = 0;
  Interval interval = Interval::kClosed;
  Precision precision = Precision::kFp32;
};

struct FlagRule {};
struct TextRule {};  ///< not empty

struct WordRule {
  std::vector<std::string> allowed;
  std::vector<std::string> later;  ///< words of the contract that this build does not honour
};

/// A key with a reader of its own, which keeps to these words.
struct OwnRule {
  std::string type;
  std::string expected;
};

using Rule = std::variant<IntegerRule, NumberRule, FlagRule, TextRule, WordRule, OwnRule>;

/// "an integer in 1..64": stands in every refusal and beside the key in configs/README.md.
[[nodiscard]] std::string expected_by(const Rule& rule);
/// "int", "number", "bool", "string", or what an OwnRule says.
[[nodiscard]] std::string type_of(const Rule& rule);

/// A member that holds an enumerator, seen as an index into its words.
struct WordField {
  std::string current;
  std::function<void(const std::string& word)> choose;
};

/// The member that a key sets; monostate: the key has a reader of its own.
using Field = std::variant<std::monostate, bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                           WordField>;

template <class E, std::size_t N>
[[nodiscard]] Field word_field(E& member, const NameTable<E, N>& names) {
  return WordField{std::string(name_in(names, member)), [&member, &names](const std::string& word) {
                     if (const std::optional<E> value = value_in(names, word)) member = *value;
                   }};
}

/// All words of a closed kind.
template <class E, std::size_t N>
[[nodiscard]] Rule words(const NameTable<E, N>& names) {
  WordRule rule;
  for (const auto& [value, name] : names) rule.allowed.emplace_back(name);
  return rule;
}

enum class Presence { kOptional, kRequired };

/// One key of an object that is read into a T.
template <class T>
struct KeyRow {
  std::string_view
      path;  ///< from the object on: "muon.lr" for a RunConfig, "shape" for an entry of model.params
  Rule rule;
  std::function<Field(T&)> field;
  Presence presence = Presence::kOptional;
  std::string_view default_text = "";  ///< where the member's initial value does not say it
};

}  // namespace muonbench
