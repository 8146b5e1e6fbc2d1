// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/read_parts.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/config/common_rules.h"
#include "src/config/key_table.h"
#include "src/config/overrides.h"

namespace muonbench {
namespace {

bool is_list(const Key& key) { return key.is(JsonNode::Kind::kList); }

}  // namespace

std::vector<std::string> read_modes(const Key& top, const ConfigVocabulary& vocabulary) {
  const Key key = top / "modes";
  if (!key.present()) return RunConfig{}.modes;
  WordRule rule{vocabulary.modes, {}};
  for (const std::string& mode : contract_modes())
    if (std::find(rule.allowed.begin(), rule.allowed.end(), mode) == rule.allowed.end())
      rule.later.push_back(mode);
  if (!is_list(key) || key.size() == 0) key.reject(text("a non-empty array, each {}", expected_by(rule)));
  std::vector<std::string> modes;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const std::string mode = key[i].word(rule);
    if (std::find(modes.begin(), modes.end(), mode) != modes.end())
      key[i].reject("each mode once", text("\"{}\" again", mode));
    modes.push_back(mode);
  }
  return modes;
}

std::map<std::string, std::pair<int, int>> read_homes(const Key& top) {
  const Key key = top.at("muon.homes");
  std::map<std::string, std::pair<int, int>> homes;
  if (!key.present()) return homes;
  if (!key.is(JsonNode::Kind::kObject)) key.reject(expected_at_path("muon.homes"));
  constexpr IntegerRule kIndex = {0, (1U << 20U) - 1};
  for (const std::string& name : key.names()) {
    const Key home = key / name;
    if (!is_list(home) || home.size() != 2) home.reject("[g, t], two integers in 0..1048575");
    homes[name] = {static_cast<int>(home[0].integer(kIndex)), static_cast<int>(home[1].integer(kIndex))};
  }
  return homes;
}

std::vector<NsCoefficients> read_custom_coefficients(const Key& top) {
  const Key key = top.at("muon.custom_coefficients");
  std::vector<NsCoefficients> coefficients;
  if (!key.present()) return coefficients;
  if (!is_list(key)) key.reject(expected_at_path("muon.custom_coefficients"));
  constexpr NumberRule kAny = {-kFp32Max, kFp32Max};
  for (std::size_t i = 0; i < key.size(); ++i) {
    const Key entry = key[i];
    if (!is_list(entry) || entry.size() != 3) entry.reject("[a, b, c], three numbers");
    coefficients.push_back({entry[0].number(kAny), entry[1].number(kAny), entry[2].number(kAny)});
  }
  return coefficients;
}

std::vector<InjectConfig> read_injections(const Key& top) {
  const Key key = top.at("gradients.inject");
  std::vector<InjectConfig> injections;
  if (!key.present()) return injections;
  if (!is_list(key)) key.reject(expected_at_path("gradients.inject"));
  for (std::size_t i = 0; i < key.size(); ++i) injections.push_back(read_rows(inject_keys(), key[i]));
  return injections;
}

std::map<std::string, GroupConfig> read_groups(const Key& top, const MuonConfig& muon) {
  const Key key = top.at("muon.groups");
  std::map<std::string, GroupConfig> groups;
  if (!key.present()) return groups;
  for (const std::string& label : key.names()) {
    const Key entry = key / label;
    if (label.empty() || label == "dense" || label == "expert")
      entry.reject("a label beside the built-in dense and expert", text("\"{}\"", label));
    groups[label] = read_rows(group_keys(), entry, GroupConfig{muon.lr, muon.weight_decay});
  }
  return groups;
}

std::map<std::string, Bounds> read_require(const Key& top, const std::vector<std::string>& modes) {
  const Key key = top / "require";
  std::map<std::string, Bounds> require;
  if (!key.present()) return require;
  for (const std::string& name : key.names()) {
    const Key entry = key / name;
    const std::string mode = name.substr(0, name.find('.'));
    if (mode.size() + 1 >= name.size() || std::find(modes.begin(), modes.end(), mode) == modes.end())
      key.reject(text("names \"MODE.field\" with MODE among the modes of this run ({})", join(modes)),
                 text("\"{}\"", cut_text(name, 80)));
    Bounds bounds;
    const NumberRule any = std::get<NumberRule>(any_double());
    if ((entry / "min").present()) bounds.min = (entry / "min").number(any);
    if ((entry / "max").present()) bounds.max = (entry / "max").number(any);
    if (!bounds.min && !bounds.max) entry.reject("min, max or both");
    if (bounds.min && bounds.max && *bounds.min > *bounds.max) entry.reject("min to be at most max");
    require[name] = bounds;
  }
  return require;
}

}  // namespace muonbench
