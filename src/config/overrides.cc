// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/overrides.h"

#include <charconv>
#include <optional>
#include <utility>

#include "src/base/text.h"
#include "src/config/key_table.h"

namespace muonbench {
namespace {

std::vector<std::string> split_path(const std::string& path, const std::string& source) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (const std::string& part : parts)
    if (part.empty())
      throw ConfigError(text("{}: expected a dotted path before \"=\", got \"{}\"", source, path));
  if (parts.size() > kMaxJsonDepth)
    throw ConfigError(
        text("{}: expected at most {} parts in a path, got {}", source, kMaxJsonDepth, parts.size()));
  return parts;
}

std::optional<std::size_t> index_of(const std::string& part) {
  std::size_t index = 0;
  const auto result = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool all = result.ec == std::errc() && result.ptr == part.data() + part.size();
  return all ? std::optional(index) : std::nullopt;
}

JsonNode value_of(const std::string& written, const ParseContext& context) {
  try {
    return parse_json(written, context);
  } catch (const JsonSyntaxError&) {
    JsonNode node;
    node.kind = JsonNode::Kind::kText;
    node.text = written;
    node.origin = context.origin;
    return node;
  }
}

/// The node that `part` names inside `node`, which stands at `place`; made if `node` is an object without it.
JsonNode& step_into(JsonNode& node, const std::string& part, const ParseContext& place) {
  const std::string at = place.path.empty() ? place.source : text("{}: {}", place.source, place.path);
  if (node.kind == JsonNode::Kind::kList) {
    const std::optional<std::size_t> index = index_of(part);
    if (!index || *index >= node.items.size())
      throw ConfigError(
          text("{}: expected the index of one of {} entries, got {}", at, node.items.size(), part));
    return node.items[*index];
  }
  if (node.kind != JsonNode::Kind::kObject)
    throw ConfigError(
        text("{}: expected an object or a list for the path to go through, got {}", at, render(node)));
  if (JsonNode* found = node.find(part)) return *found;
  node.keys.push_back(part);
  JsonNode& made = node.items.emplace_back();
  made.kind = JsonNode::Kind::kObject;
  made.origin = place.origin;
  return made;
}

JsonNode with_override(JsonNode root, const std::string& override_text, int origin) {
  ParseContext place = {override_source(override_text), "", origin, Comments::kRefused, expected_at_path};
  require_clean_text(override_text, place.source);
  const std::size_t equals = override_text.find('=');
  if (equals == std::string::npos)
    throw ConfigError(text("{}: expected KEY=VALUE, got no \"=\"", place.source));
  JsonNode* node = &root;
  for (const std::string& part : split_path(override_text.substr(0, equals), place.source)) {
    const bool list = node->kind == JsonNode::Kind::kList;
    node = &step_into(*node, part, place);
    place.path = list ? text("{}[{}]", place.path, part) : join_path(place.path, part);
  }
  *node = value_of(override_text.substr(equals + 1), place);
  return root;
}

/// "a.b[].c" without its last "[]" or ".c".
std::string parent_of(const std::string& schema) {
  const std::size_t end = schema.find_last_of(".[");
  return end == std::string::npos ? "" : schema.substr(0, end);
}

}  // namespace

Document with_overrides(JsonNode root, const std::string& source, const std::vector<std::string>& overrides) {
  int origin = 0;
  for (const std::string& override_text : overrides)
    root = with_override(std::move(root), override_text, ++origin);
  return {std::move(root), source, overrides};
}

std::string expected_at_path(const std::string& path) {
  std::string schema;
  bool in_index = false;
  for (const char c : path) {
    in_index = in_index && c != ']';
    if (!in_index) schema += c;
    in_index = in_index || c == '[';
  }
  for (; !schema.empty(); schema = parent_of(schema))
    for (const KeyInfo& key : config_keys())
      if (key.path == schema) return key.expected;
  return "a number that a double can hold";
}

}  // namespace muonbench
