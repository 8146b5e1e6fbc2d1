// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/json_tree.h"
#include "src/config/key_rule.h"

namespace muonbench {

/// A configuration as written, overrides applied.
struct Document {
  JsonNode root;
  std::string source;
  std::vector<std::string> overrides;  ///< "dotted.path=value"; JsonNode::origin counts them from 1
};

/// "--set ..." of a reasonable length: heads messages about what an override set.
[[nodiscard]] std::string override_source(const std::string& override_text);

/// The value of an integral JSON number ("10", "10.0", "1e1"), read from its digits; none if it is negative,
/// has a fraction or does not fit.
[[nodiscard]] std::optional<std::uint64_t> exact_integer(std::string_view digits);

/// A place in a document: knows its path, reads its value by a rule, refuses by key. The document must
/// outlive it.
class Key {
 public:
  explicit Key(const Document& document) : Key(document, &document.root, "") {}

  [[nodiscard]] Key operator/(std::string_view name) const;  ///< one member, its name as it stands
  [[nodiscard]] Key at(std::string_view dotted_path) const;  ///< several members down
  [[nodiscard]] Key operator[](std::size_t index) const;     ///< of a list

  [[nodiscard]] bool present() const { return node_ != nullptr; }
  [[nodiscard]] bool is(JsonNode::Kind kind) const { return node_ != nullptr && node_->kind == kind; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t size() const { return node_ == nullptr ? 0 : node_->items.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return node_->keys; }  ///< of an object
  [[nodiscard]] std::string got() const;  ///< the value as written, "nothing" if absent

  /// Throws ConfigError "source: path: expected ..., got ...", then `hint` as it stands.
  [[noreturn]] void reject(const std::string& expected, const std::string& got,
                           const std::string& hint = "") const;
  [[noreturn]] void reject(const std::string& expected) const { reject(expected, got()); }
  /// Throws ConfigError "source: path: message".
  [[noreturn]] void refuse(const std::string& message) const;

  /// The value if it is a whole number >= 0, whatever its notation.
  [[nodiscard]] std::optional<std::uint64_t> whole() const;
  [[nodiscard]] std::uint64_t integer(const IntegerRule& rule) const;
  [[nodiscard]] double number(const NumberRule& rule) const;
  [[nodiscard]] bool flag() const;
  [[nodiscard]] std::string text_value() const;
  [[nodiscard]] std::string word(const WordRule& rule) const;

 private:
  Key(const Document& document, const JsonNode* node, std::string path)
      : document_(&document), node_(node), path_(std::move(path)) {}

  const Document* document_;
  const JsonNode* node_;
  std::string path_;
};

/// Sets the member behind `field` to what stands at `key`, by `rule`.
void assign(const Field& field, const Rule& rule, const Key& key);

/// The object at `base`, key by key; members whose key is absent keep their initial value. Keys with a reader
/// of their own are left alone, but must be there if required.
template <class T>
[[nodiscard]] T read_rows(const std::vector<KeyRow<T>>& rows, const Key& base, T values = T()) {
  for (const KeyRow<T>& row : rows) {
    const Key key = base.at(row.path);
    if (key.present()) assign(row.field(values), row.rule, key);
    if (!key.present() && row.presence == Presence::kRequired) key.reject(expected_by(row.rule));
  }
  return values;
}

}  // namespace muonbench
