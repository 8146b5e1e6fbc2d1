// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/base/text.h"
#include "src/config/key_table.h"

namespace muonbench {
namespace {

struct CurrentValue {
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  template <class T>
  std::string operator()(const T* value) const {
    return text("{}", *value);
  }
  std::string operator()(const WordField& field) const { return field.current; }
};

template <class T>
std::vector<KeyInfo> infos(const std::string& prefix, const std::vector<KeyRow<T>>& rows) {
  T initial;
  std::vector<KeyInfo> all;
  for (const KeyRow<T>& row : rows) {
    std::string value = row.presence == Presence::kRequired ? "required" : std::string(row.default_text);
    if (value.empty()) value = std::visit(CurrentValue{}, row.field(initial));
    all.push_back({prefix + std::string(row.path), type_of(row.rule), expected_by(row.rule), value});
  }
  return all;
}

std::vector<KeyInfo> make_config_keys() {
  std::vector<KeyInfo> all = infos("", run_keys());
  for (const auto& part :
       {infos("model.transformer.", transformer_keys()), infos("model.transformer.moe.", moe_keys()),
        infos("model.transformer.mla.", mla_keys()), infos("model.params[].", param_keys()),
        infos("muon.groups.*.", group_keys()), infos("gradients.inject[].", inject_keys()),
        infos("require.*.", bounds_keys())})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<KeyInfo>& config_keys() {
  static const std::vector<KeyInfo> keys = make_config_keys();
  return keys;
}

const std::vector<std::string>& contract_modes() {
  static const std::vector<std::string> modes = {"layer_sharded",   "duplicated", "distributed",
                                                 "blockwise",       "auto",       "adam_dim0",
                                                 "adam_replicated", "layer_wise"};
  return modes;
}

}  // namespace muonbench
