// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/json_tree.h"

#include <algorithm>

#include "src/base/text.h"

namespace muonbench {
namespace {

std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += text("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Stops once `out` has grown beyond `limit`: a message needs no more of a list of a million entries.
std::string append(std::string out, const JsonNode& node, std::size_t limit) {
  switch (node.kind) {
    case JsonNode::Kind::kNull: return out + "null";
    case JsonNode::Kind::kFlag: return out + (node.flag ? "true" : "false");
    case JsonNode::Kind::kNumber: return out + node.text;
    case JsonNode::Kind::kText: return out + quoted(node.text);
    case JsonNode::Kind::kList:
    case JsonNode::Kind::kObject: break;
  }
  const bool object = node.kind == JsonNode::Kind::kObject;
  out += object ? "{" : "[";
  for (std::size_t i = 0; i < node.items.size() && out.size() <= limit; ++i) {
    if (i > 0) out += ", ";
    if (object) out += quoted(node.keys[i]) + ": ";
    out = append(std::move(out), node.items[i], limit);
  }
  return out + (object ? "}" : "]");
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

JsonNode* JsonNode::find(std::string_view key) {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::string cut_text(std::string value, std::size_t limit) {
  if (value.size() <= limit) return value;
  std::size_t end = limit;
  while (end > 0 && is_continuation(value[end])) --end;
  value.resize(end);
  return value + "...";
}

std::string render(const JsonNode& node, std::size_t limit) {
  return cut_text(append("", node, limit), limit);
}

std::string join_path(const std::string& base, std::string_view key) {
  return base.empty() ? std::string(key) : text("{}.{}", base, key);
}

}  // namespace muonbench
