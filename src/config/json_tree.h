// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/error.h"

namespace muonbench {

/// One JSON value as it was written: numbers keep their digits, so that nothing is narrowed before it is
/// checked.
struct JsonNode {
  enum class Kind { kNull, kFlag, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool flag = false;
  std::string text;               ///< a string's value, or a number's digits
  std::vector<std::string> keys;  ///< of an object, in order; keys[i] belongs to items[i]
  std::vector<JsonNode> items;    ///< of a list or an object
  int origin = 0;                 ///< 0: the file; n: the n-th override

  [[nodiscard]] const JsonNode* find(std::string_view key) const;
  [[nodiscard]] JsonNode* find(std::string_view key);
};

/// Text that is no JSON. Apart from other refusals because an override that is no JSON is a string.
class JsonSyntaxError : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

enum class Comments { kRefused, kAllowed };

/// What a parse needs to know to speak of places.
struct ParseContext {
  std::string source;  ///< heads every message
  std::string path;    ///< dotted path at which the text's value will stand; empty: the top
  int origin = 0;
  Comments comments = Comments::kAllowed;
  /// What the key at a path takes, for a number that no double can hold.
  std::function<std::string(const std::string& path)> expected_at;
};

/// Lists and objects may be nested this deep, so that walking a tree never exhausts the stack.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// Throws ConfigError (line and column) for ill-formed UTF-8 and for a NUL byte.
void require_clean_text(std::string_view json, const std::string& source);

/// Strict JSON in UTF-8, an optional byte order mark, any line ends, comments if allowed.
/// Throws JsonSyntaxError (line and column); ConfigError for unclean text, for a key given twice in one
/// object, for a number beyond a double and for nesting beyond kMaxJsonDepth (full path).
[[nodiscard]] JsonNode parse_json(std::string_view json, const ParseContext& context);

/// The value as JSON on one line, cut to about `limit` bytes between characters.
[[nodiscard]] std::string render(const JsonNode& node, std::size_t limit = 80);

/// `value` if it is no longer than `limit` bytes, else its head and "...". Never cuts inside a character.
[[nodiscard]] std::string cut_text(std::string value, std::size_t limit);

/// "a.b", "b" at the top.
[[nodiscard]] std::string join_path(const std::string& base, std::string_view key);

}  // namespace muonbench
