// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/read_config.h"

#include <algorithm>
#include <array>

#include "src/base/text.h"
#include "src/config/check_keys.h"
#include "src/config/common_rules.h"
#include "src/config/key_table.h"
#include "src/config/overrides.h"
#include "src/config/read_parts.h"
#include "src/config/resolved_json.h"
#include "src/ns/coefficients.h"

namespace muonbench {
namespace {

std::string file_name_of(const std::string& source) {
  std::string name = source.substr(source.find_last_of('/') + 1);
  if (name.ends_with(".json")) name.resize(name.size() - std::string(".json").size());
  return name.empty() ? source : name;
}

/// `message` is "key: why", as resolve_schedule words it; the key stands in section muon.
[[noreturn]] void refuse_schedule(const Key& top, const std::string& message) {
  const std::size_t colon = message.find(": ");
  const std::string name = message.starts_with("num_ns_steps") ? "num_ns_steps" : "coefficient_type";
  (top / "muon" / name).refuse(colon == std::string::npos ? message : message.substr(colon + 2));
}

void check_coefficients(const Key& top, const MuonConfig& muon) {
  const Key custom = top.at("muon.custom_coefficients");
  const bool wants_custom = muon.coefficient_type == "custom";
  if (wants_custom && muon.custom_coefficients.empty())
    custom.reject("at least one [a, b, c], as muon.coefficient_type is custom");
  if (!wants_custom && !muon.custom_coefficients.empty())
    custom.reject(text("none, as muon.coefficient_type is {} and not custom", muon.coefficient_type));
  try {
    static_cast<void>(resolve_schedule(muon.coefficient_type, muon.num_ns_steps, muon.custom_coefficients));
  } catch (const ConfigError& error) {
    refuse_schedule(top, error.what());
  }
}

void check_homes(const Key& top, const MuonConfig& muon) {
  if (muon.home_policy != HomePolicy::kExplicit && !muon.homes.empty())
    top.at("muon.homes")
        .reject(text("{{}}, as muon.home_policy is {} and not explicit",
                     name_in(kHomePolicyNames, muon.home_policy)));
}

/// The way back must lose nothing, and keys of the exchange between shards and homes do nothing in modes that
/// have none.
void check_travel(const Key& top, const RunConfig& config) {
  if (config.muon.return_dtype == DType::kBf16 && config.muon.fp32_matmul_prec != MatmulPrecision::kMedium)
    top.at("muon.return_dtype")
        .reject(text("fp32, as muon.fp32_matmul_prec is {} and NS ends in bf16 in medium alone",
                     name_in(kMatmulPrecisionNames, config.muon.fp32_matmul_prec)));
  if (config.runs("layer_sharded") || config.runs("layer_wise")) return;
  const MuonConfig& given = config.muon;
  const MuonConfig initial;
  const auto refuse_unless = [&](bool is_default, const char* path, std::string_view default_word) {
    if (!is_default)
      top.at(path).reject(text("{}, as none of modes is layer_sharded or layer_wise", default_word));
  };
  refuse_unless(given.exchange == initial.exchange, "muon.exchange", "two_stage");
  refuse_unless(given.return_dtype == initial.return_dtype, "muon.return_dtype", "fp32");
  refuse_unless(given.exchange_chunks == initial.exchange_chunks, "muon.exchange_chunks", "1");
  refuse_unless(given.gtp_only_homes == initial.gtp_only_homes, "muon.gtp_only_homes", "column");
  refuse_unless(given.split_oversized == initial.split_oversized, "muon.split_oversized", "false");
}

/// Factors of a number of ranks, each of which may be as large as the number itself.
void check_ranks(const Key& parallelism, const std::string& what, const std::array<int, 4>& factors) {
  std::int64_t product = 1;
  for (const int factor : factors) {
    product *= factor;
    if (product > static_cast<std::int64_t>(kMostRanks))
      parallelism.reject(text("{} of at most {}", what, kMostRanks),
                         text("{} * {} * {} * {}", factors[0], factors[1], factors[2], factors[3]));
  }
}

void check_world(const Key& top, const ParallelismConfig& p) {
  const Key key = top / "parallelism";
  check_ranks(key, "tp * gtp_remat * dp * pp", {p.tp, p.gtp_remat, p.dp, p.pp});
  check_ranks(key, "expert_tp * ep * expert_gtp_remat * pp", {p.expert_tp, p.ep, p.expert_gtp_remat, p.pp});
}

void check_param_groups(const Key& top, const RunConfig& config) {
  if (!config.model.params) return;
  std::vector<std::string> labels = {"dense", "expert"};
  for (const auto& [label, group] : config.muon.groups) labels.push_back(label);
  for (std::size_t i = 0; i < config.model.params->size(); ++i) {
    const std::optional<std::string>& group = (*config.model.params)[i].group;
    if (!group || std::find(labels.begin(), labels.end(), *group) != labels.end()) continue;
    const Key key = top.at("model.params")[i] / "group";
    const std::string nearest = nearest_name(*group, labels);
    key.reject(text("dense, expert or a key of muon.groups ({})",
                    config.muon.groups.empty() ? "none" : join({labels.begin() + 2, labels.end()})),
               key.got(), nearest.empty() ? "" : text(", did you mean {}?", nearest));
  }
}

/// A tag that would do nothing is no mistake unless it is asked to do something.
void check_qkv_splits(const Key& top, const RunConfig& config) {
  if (!config.muon.split_qkv || !config.model.params) return;
  for (std::size_t i = 0; i < config.model.params->size(); ++i) {
    const ParamConfig& param = (*config.model.params)[i];
    if (param.qkv_split.empty() || param.optimizer == "muon") continue;
    (top.at("model.params")[i] / "qkv_split")
        .reject(
            text("[], as muon.split_qkv is true and the optimizer of {} is {}", param.name, param.optimizer));
  }
}

/// Options of a mode that does not run would be ignored.
void check_layer_wise(const Key& top, const RunConfig& config) {
  if (config.runs("layer_wise")) return;
  const LayerWiseConfig unset;
  const auto refuse = [&](const char* key, std::string_view expected) {
    top.at(key).reject(text("{}, as layer_wise is not among modes", expected));
  };
  if (config.layer_wise.policy != unset.policy)
    refuse("layer_wise.policy", name_in(kOwnerPolicyNames, unset.policy));
  if (config.layer_wise.adam != unset.adam)
    refuse("layer_wise.adam", name_in(kLayerWiseAdamNames, unset.adam));
}

void check_injections(const Key& top, const RunConfig& config) {
  const std::int64_t steps = static_cast<std::int64_t>(config.run.warmup_steps) + config.run.steps;
  const Key list = top.at("gradients.inject");
  for (std::size_t i = 0; i < config.gradients.inject.size(); ++i)
    if (config.gradients.inject[i].step >= steps)
      (list[i] / "step")
          .reject(text("a step in 0..{} (run.warmup_steps + run.steps are {})", steps - 1, steps));
}

RunSettings with_backend_checked(const Key& top, RunSettings run, const ConfigVocabulary& vocabulary) {
  const std::string backend(name_in(kBackendNames, run.backend));
  if (std::find(vocabulary.backends.begin(), vocabulary.backends.end(), backend) == vocabulary.backends.end())
    top.at("run.backend")
        .reject(
            text("{} (this build has no {} backend; bazel build --config={} //:muonbench makes one that has)",
                 join(vocabulary.backends, " or "), backend, backend),
            text("\"{}\"", backend));
  const Key transport = top.at("run.transport");
  if (!transport.present())
    run.transport = run.backend == Backend::kCuda ? Transport::kNccl : Transport::kMpi;
  if (run.transport != Transport::kMpi && run.backend == Backend::kCpu)
    transport.reject(text("mpi, as run.backend is cpu and {} moves device memory alone",
                          name_in(kTransportNames, run.transport)));
  return run;
}

/// What no device of a backend computes, so that a plan is refused what a run would be.
void check_backend_computes(const Key& top, const RunConfig& config) {
  switch (config.run.backend) {
    case Backend::kCpu:
      if (config.muon.fp32_matmul_prec == MatmulPrecision::kHigh)
        top.at("muon.fp32_matmul_prec")
            .reject("highest or medium, as run.backend is cpu and BLAS has no TF32");
      return;
    case Backend::kCuda:
      if (takes_halves(config.muon.ns_algorithm) && config.muon.fp32_matmul_prec != MatmulPrecision::kMedium)
        top.at("muon.ns_algorithm")
            .reject(
                "gemm or auto, as run.backend is cuda, whose symmetric products are those of 16 bits "
                "(muon.fp32_matmul_prec medium)");
      if (config.muon.ns_batch_size > kMostTogether)
        top.at("muon.ns_batch_size").reject(text("1..{}, as run.backend is cuda", kMostTogether));
      return;
  }
}

/// Where NS is spread over ranks they add up a Gram matrix in each step, and gram takes fewer.
void check_gram(const Key& top, const RunConfig& config) {
  if (config.muon.ns_algorithm != NsAlgorithm::kGram) return;
  for (const char* mode : {"distributed", "auto"})
    if (config.runs(mode))
      top.at("muon.ns_algorithm")
          .reject(text("gemm, syrk or auto, as mode {} adds up the Gram matrices of every step", mode));
  if (config.muon.split_oversized)
    top.at("muon.ns_algorithm")
        .reject("gemm, syrk or auto, as muon.split_oversized adds up the Gram matrices of every step");
}

}  // namespace

RunConfig read_config(std::string_view json, const std::string& source,
                      const std::vector<std::string>& overrides, const ConfigVocabulary& vocabulary) {
  JsonNode root = parse_json(json, {source, "", 0, Comments::kAllowed, expected_at_path});
  if (root.kind != JsonNode::Kind::kObject)
    throw ConfigError(text("{}: expected an object at the top level, got {}", source, render(root)));
  const Document document = with_overrides(std::move(root), source, overrides);
  require_known_keys(document);

  const Key top(document);
  RunConfig config = read_rows(run_keys(), top);
  if (config.name.empty()) config.name = file_name_of(source);
  config.model = read_model(top, config.gradients.fill);
  config.modes = read_modes(top, vocabulary);
  config.muon.custom_coefficients = read_custom_coefficients(top);
  config.muon.homes = read_homes(top);
  config.muon.groups = read_groups(top, config.muon);
  config.require = read_require(top, config.modes);
  config.gradients.inject = read_injections(top);
  config.run = with_backend_checked(top, config.run, vocabulary);
  check_backend_computes(top, config);
  check_gram(top, config);
  check_coefficients(top, config.muon);
  check_homes(top, config.muon);
  check_travel(top, config);
  check_world(top, config.parallelism);
  check_param_groups(top, config);
  check_qkv_splits(top, config);
  check_layer_wise(top, config);
  check_injections(top, config);
  config.resolved_json = resolved_json(config);
  return config;
}

}  // namespace muonbench
