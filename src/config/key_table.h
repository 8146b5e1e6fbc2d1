// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/key_rule.h"

/// THE tables: every key that a configuration may hold. Reading, refusing, resolving and configs/README.md's
/// test walk them.
namespace muonbench {

[[nodiscard]] const std::vector<KeyRow<RunConfig>>& run_keys();
[[nodiscard]] const std::vector<KeyRow<TransformerConfig>>& transformer_keys();  ///< of model.transformer
[[nodiscard]] const std::vector<KeyRow<MoeConfig>>& moe_keys();                  ///< of model.transformer.moe
[[nodiscard]] const std::vector<KeyRow<MlaConfig>>& mla_keys();                  ///< of model.transformer.mla
[[nodiscard]] const std::vector<KeyRow<ParamConfig>>& param_keys();    ///< of an entry of model.params
[[nodiscard]] const std::vector<KeyRow<GroupConfig>>& group_keys();    ///< of an entry of muon.groups
[[nodiscard]] const std::vector<KeyRow<InjectConfig>>& inject_keys();  ///< of an entry of gradients.inject
[[nodiscard]] const std::vector<KeyRow<Bounds>>& bounds_keys();        ///< of an entry of require

/// All of the above with full paths; "[]" stands for any entry of a list, "*" for any name in an object.
struct KeyInfo {
  std::string path;
  std::string type;
  std::string expected;
  std::string default_text;  ///< "-": none; "required"
};
[[nodiscard]] const std::vector<KeyInfo>& config_keys();

/// Modes of the contract; which of them a build has is said by ConfigVocabulary.
[[nodiscard]] const std::vector<std::string>& contract_modes();

}  // namespace muonbench
