// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "src/base/text.h"
#include "src/config/json_tree.h"

namespace muonbench {
namespace {

/// Length of the well-formed UTF-8 sequence at the start of `bytes`, 0 if there is none (Unicode 15, table
/// 3-7).
std::size_t utf8_length(std::string_view bytes) {
  const auto byte = [bytes](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) : 0U;
  };
  const unsigned head = byte(0);
  if (head < 0x80) return 1;
  const std::size_t length = head < 0xc2 ? 0 : head < 0xe0 ? 2 : head < 0xf0 ? 3 : head < 0xf5 ? 4 : 0;
  if (length == 0) return 0;
  const unsigned low = head == 0xe0 ? 0xa0 : head == 0xf0 ? 0x90 : 0x80;
  const unsigned high = head == 0xed ? 0x9f : head == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  return length;
}

std::string place(std::string_view json, std::size_t offset) {
  const std::string_view before = json.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return text("line {}, column {}", line, offset - start + 1);
}

/// What people who write JSON by hand most often mean by it.
std::string hint(std::string_view json, std::size_t position) {
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) return " (the text is empty)";
  if (position == 0 || position > json.size()) return "";
  const char got = json[position - 1];
  if (got == '\'') return " (strings stand in double quotes)";
  if (got != '}' && got != ']') return "";
  const std::size_t last = json.substr(0, position - 1).find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && json[last] == ',' ? " (no comma may follow the last entry)" : "";
}

/// Builds the tree from the parser's events. The parser itself keeps no stack, so deep nesting ends here, by
/// refusal.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view json, const ParseContext& context) : json_(json), context_(context) {}
  [[nodiscard]] JsonNode take() { return std::move(root_); }

  bool null() override { return leaf(JsonNode::Kind::kNull, ""); }
  bool boolean(bool value) override {
    add(JsonNode::Kind::kFlag).flag = value;
    return true;
  }
  bool number_integer(number_integer_t value) override {
    return leaf(JsonNode::Kind::kNumber, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return leaf(JsonNode::Kind::kNumber, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return leaf(JsonNode::Kind::kNumber, digits);
  }
  bool string(string_t& value) override { return leaf(JsonNode::Kind::kText, value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonNode::Kind::kObject); }
  bool start_array(std::size_t) override { return open(JsonNode::Kind::kList); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.seen.insert(name).second)
      refuse(join_path(path(levels_.size() - 1), name), "expected each key once, got it twice in one object");
    level.node->keys.push_back(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      const std::string at = value_path();
      refuse(at, text("expected {}, got {}", context_.expected_at ? context_.expected_at(at) : "a number",
                      token));
    }
    const std::string what = error.what();
    const std::string head = "parse error at ";
    const std::size_t start = what.find(head);
    throw JsonSyntaxError(text("{}: {}{}", context_.source,
                               start == std::string::npos ? what : what.substr(start + head.size()),
                               hint(json_, position)));
  }

 private:
  struct Level {
    JsonNode* node;  ///< stable while open: its parent gains no further item before it closes
    std::unordered_set<std::string> seen;
  };

  [[noreturn]] void refuse(const std::string& at, const std::string& why) const {
    throw ConfigError(at.empty() ? text("{}: {}", context_.source, why)
                                 : text("{}: {}: {}", context_.source, at, why));
  }

  /// Path of the `depth`-th open list or object.
  [[nodiscard]] std::string path(std::size_t depth) const {
    std::string at = context_.path;
    for (std::size_t i = 0; i < depth; ++i) {
      const JsonNode& node = *levels_[i].node;
      const bool object = node.kind == JsonNode::Kind::kObject;
      at = object ? join_path(at, node.keys.back()) : text("{}[{}]", at, node.items.size() - 1);
    }
    return at;
  }

  /// Path of the value that comes next.
  [[nodiscard]] std::string value_path() const {
    if (levels_.empty()) return context_.path;
    const JsonNode& parent = *levels_.back().node;
    const std::string at = path(levels_.size() - 1);
    return parent.kind == JsonNode::Kind::kObject ? join_path(at, parent.keys.back())
                                                  : text("{}[{}]", at, parent.items.size());
  }

  JsonNode& add(JsonNode::Kind kind) {
    JsonNode& node = levels_.empty() ? root_ : levels_.back().node->items.emplace_back();
    node.kind = kind;
    node.origin = context_.origin;
    return node;
  }
  bool leaf(JsonNode::Kind kind, std::string value) {
    add(kind).text = std::move(value);
    return true;
  }
  bool open(JsonNode::Kind kind) {
    if (levels_.size() == kMaxJsonDepth)
      refuse(value_path(), text("expected at most {} nested lists and objects, got more", kMaxJsonDepth));
    JsonNode& node = add(kind);
    levels_.push_back({&node, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view json_;
  const ParseContext& context_;
  JsonNode root_;
  std::vector<Level> levels_;
};

}  // namespace

void require_clean_text(std::string_view json, const std::string& source) {
  // The parser looks for bad bytes inside strings alone and takes a NUL for the end of the text.
  for (std::size_t i = 0; i < json.size();) {
    const std::size_t length = utf8_length(json.substr(i));
    if (length == 0)
      throw ConfigError(text("{}: {}: expected UTF-8, got an ill-formed byte", source, place(json, i)));
    if (json[i] == '\0')
      throw ConfigError(text("{}: {}: expected JSON, got a NUL byte", source, place(json, i)));
    i += length;
  }
}

JsonNode parse_json(std::string_view json, const ParseContext& context) {
  require_clean_text(json, context.source);
  TreeBuilder builder(json, context);
  const bool parsed = nlohmann::json::sax_parse(json, &builder, nlohmann::json::input_format_t::json,
                                                /*strict=*/true, context.comments == Comments::kAllowed);
  if (!parsed) throw JsonSyntaxError(text("{}: expected JSON", context.source));
  return builder.take();
}

}  // namespace muonbench
