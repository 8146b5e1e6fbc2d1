// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/check_keys.h"

#include <algorithm>
#include <map>

#include "src/base/text.h"
#include "src/config/key_table.h"

namespace muonbench {
namespace {

using Children = std::map<std::string, std::vector<std::string>, std::less<>>;

void insert_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Names that may stand in an object ("*" alone: any), by the object's path with "[]" for any entry of a list
/// and "*" for any name; "": the top level.
Children make_children() {
  Children children;
  for (const KeyInfo& key : config_keys()) {
    std::string parent;
    std::string rest = key.path;
    while (!rest.empty()) {
      const std::size_t dot = rest.find('.');
      const std::string part = rest.substr(0, dot);
      insert_once(children[parent], part.ends_with("[]") ? part.substr(0, part.size() - 2) : part);
      parent = join_path(parent, part);
      rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
    }
  }
  return children;
}

const Children& known_children() {
  static const Children children = make_children();
  return children;
}

std::string last_name(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// Full paths of keys with this last name, or else with the nearest to it: people set a right key at the
/// wrong level.
std::vector<std::string> homes_of_name(const std::string& name) {
  std::vector<std::string> paths, names;
  for (const KeyInfo& key : config_keys())
    if (key.path.find('*') == std::string::npos) paths.push_back(key.path);
  for (const std::string& path : paths) names.push_back(last_name(path));
  const std::string nearest = nearest_name(name, names);
  std::erase_if(paths, [&](const std::string& path) { return last_name(path) != nearest; });
  return paths;
}

[[noreturn]] void refuse_unknown(const Key& key, const std::string& name,
                                 const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) key.refuse(text("unknown key, did you mean {}?", nearest));
  const std::vector<std::string> elsewhere = homes_of_name(name);
  if (!elsewhere.empty()) key.refuse(text("unknown key, did you mean {}?", join(elsewhere, " or ")));
  key.refuse(text("unknown key, known here: {}", join(known)));
}

void check_object(const Key& key, const std::string& schema) {
  const Children& children = known_children();
  const auto known = children.find(schema);
  if (known != children.end()) {
    if (!key.is(JsonNode::Kind::kObject))
      key.reject(schema.empty() ? "an object at the top level" : "an object");
    const std::vector<std::string>& names = known->second;
    const bool any_name = names.front() == "*";
    for (const std::string& name : key.names()) {
      const Key child = key / name;
      if (any_name) {
        check_object(child, join_path(schema, "*"));
        continue;
      }
      if (std::find(names.begin(), names.end(), name) == names.end()) refuse_unknown(child, name, names);
      check_object(child, join_path(schema, name));
    }
  }
  if (children.contains(schema + "[]") && key.is(JsonNode::Kind::kList))
    for (std::size_t i = 0; i < key.size(); ++i) check_object(key[i], schema + "[]");
}

}  // namespace

void require_known_keys(const Document& document) { check_object(Key(document), ""); }

}  // namespace muonbench
