// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/golden_file.h"

#include <array>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

using Json = nlohmann::json;

/// One case while it is read: where errors point to.
class CaseReader {
 public:
  CaseReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) refuse("expected an object");
  }

  [[noreturn]] void refuse(const std::string& why) const { throw ConfigError(text("{}: {}", where_, why)); }

  [[nodiscard]] const Json& field(const std::string& name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(text("expected a field '{}', got none", name));
    return *found;
  }

  template <class T>
  [[nodiscard]] T get(const std::string& name) const {
    try {
      return field(name).get<T>();
    } catch (const Json::exception& e) {
      refuse(text("{}: {}", name, e.what()));
    }
  }

  template <class T>
  [[nodiscard]] std::vector<T> array(const std::string& name, std::size_t length) const {
    auto values = get<std::vector<T>>(name);
    if (values.size() != length) refuse(text("{}: expected {} numbers, got {}", name, length, values.size()));
    return values;
  }

  [[nodiscard]] std::vector<std::vector<float>> arrays(const std::string& name, std::size_t count,
                                                       std::size_t length) const {
    auto values = get<std::vector<std::vector<float>>>(name);
    if (values.size() != count) refuse(text("{}: expected {} arrays, got {}", name, count, values.size()));
    for (const auto& one : values)
      if (one.size() != length)
        refuse(text("{}: expected arrays of {} numbers, got {}", name, length, one.size()));
    return values;
  }

 private:
  const Json& json_;
  std::string where_;
};

template <class E, std::size_t N>
E word(const CaseReader& reader, const NameTable<E, N>& table, const std::string& name) {
  const auto given = reader.get<std::string>(name);
  std::vector<std::string> known;
  for (const auto& [value, spelling] : table) {
    if (spelling == given) return value;
    known.emplace_back(spelling);
  }
  reader.refuse(text("{}: expected one of {}, got '{}'", name, join(known), given));
}

/// Hyper-parameters under the names of the upstream optimizers. Absent ones keep the defaults of MuonConfig.
void read_muon(const Json& json, const CaseReader& reader, MuonConfig& muon) {
  const std::map<std::string, std::function<void()>> fields = {
      {"lr", [&] { muon.lr = reader.get<double>("lr"); }},
      {"momentum", [&] { muon.momentum = reader.get<double>("momentum"); }},
      {"weight_decay", [&] { muon.weight_decay = reader.get<double>("weight_decay"); }},
      {"nesterov", [&] { muon.nesterov = reader.get<bool>("nesterov"); }},
      {"weight_decay_method",
       [&] { muon.weight_decay_method = word(reader, kWeightDecayMethodNames, "weight_decay_method"); }},
      {"fp32_matmul_prec",
       [&] { muon.fp32_matmul_prec = word(reader, kMatmulPrecisionNames, "fp32_matmul_prec"); }},
      {"coefficient_type", [&] { muon.coefficient_type = reader.get<std::string>("coefficient_type"); }},
      {"num_ns_steps", [&] { muon.num_ns_steps = reader.get<int>("num_ns_steps"); }},
      {"scale_mode", [&] { muon.scale_mode = word(reader, kScaleModeNames, "scale_mode"); }},
      {"extra_scale_factor", [&] { muon.extra_scale_factor = reader.get<double>("extra_scale_factor"); }},
      {"custom_coefficients",
       [&] {
         for (const auto& [a, b, c] : reader.get<std::vector<std::array<double, 3>>>("custom_coefficients"))
           muon.custom_coefficients.push_back({a, b, c});
       }},
  };
  for (const auto& [name, value] : json.items()) {
    const auto known = fields.find(name);
    if (known == fields.end()) reader.refuse(text("hyper.{}: unknown", name));
    known->second();
  }
}

void read_adam(const Json& json, const CaseReader& reader, AdamConfig& adam) {
  for (const auto& [name, value] : json.items()) {
    if (name == "lr")
      adam.lr = reader.get<double>(name);
    else if (name == "eps")
      adam.eps = reader.get<double>(name);
    else if (name == "weight_decay")
      adam.weight_decay = reader.get<double>(name);
    else if (name == "decoupled_weight_decay")
      adam.decoupled_weight_decay = reader.get<bool>(name);
    else if (name == "betas")
      std::tie(adam.beta1, adam.beta2) = reader.get<std::pair<double, double>>(name);
    else
      reader.refuse(text("hyper.{}: unknown", name));
  }
}

void read_trajectory(const CaseReader& reader, std::size_t length, const std::vector<std::string>& moments,
                     GoldenCase& golden) {
  const auto steps = reader.get<std::size_t>("steps");
  golden.weight_before = reader.array<float>("weight_before", length);
  golden.grads = reader.arrays("grads", steps, length);
  golden.weight_after = reader.arrays("weight_after", steps, length);
  for (const std::string& moment : moments)
    golden.moments_after[moment] = reader.array<float>(moment + "_after", length);
}

GoldenCase read_case(const Json& json, const std::string& where) {
  const CaseReader outer(json, where);
  GoldenCase golden;
  golden.name = outer.get<std::string>("name");
  const CaseReader reader(json, text("{} ('{}')", where, golden.name));
  golden.shape = reader.get<std::vector<std::int64_t>>("shape");
  std::size_t length = 1;
  for (const std::int64_t extent : golden.shape) {
    if (extent < 1 || golden.shape.size() > 2 ||
        length > (std::size_t{1} << 40U) / static_cast<std::size_t>(extent))
      reader.refuse("shape: expected one or two sizes of at least 1");
    length *= static_cast<std::size_t>(extent);
  }
  if (golden.shape.empty()) reader.refuse("shape: expected one or two sizes of at least 1, got none");

  const Json& hyper = reader.field("hyper");
  const CaseReader hyper_reader(hyper, text("{} ('{}'): hyper", where, golden.name));
  const auto optimizer = reader.get<std::string>("optimizer");
  if (optimizer != "adam" && golden.shape.size() != 2) reader.refuse("shape: expected two sizes");
  if (optimizer == "newton_schulz") {
    golden.kind = GoldenKind::kNewtonSchulz;
    read_muon(hyper, hyper_reader, golden.muon);
    golden.input = reader.array<float>("input", length);
    golden.output = reader.array<float>("output", length);
    golden.output_float64 = reader.array<double>("output_float64", length);
  } else if (optimizer == "muon") {
    golden.kind = GoldenKind::kMuon;
    read_muon(hyper, hyper_reader, golden.muon);
    read_trajectory(reader, length, {"momentum"}, golden);
  } else if (optimizer == "adam") {
    golden.kind = GoldenKind::kAdam;
    read_adam(hyper, hyper_reader, golden.adam);
    read_trajectory(reader, length, {"exp_avg", "exp_avg_sq"}, golden);
  } else {
    reader.refuse(text("optimizer: expected one of newton_schulz, muon, adam, got '{}'", optimizer));
  }
  return golden;
}

}  // namespace

std::vector<GoldenCase> read_golden_file(std::string_view json, const std::string& source) {
  Json document;
  try {
    document = Json::parse(json);
  } catch (const Json::exception& e) {
    throw ConfigError(text("{}: {}", source, e.what()));
  }
  const CaseReader reader(document, source);
  const Json& cases = reader.field("cases");
  if (!cases.is_array()) reader.refuse("cases: expected an array");
  std::vector<GoldenCase> golden;
  for (const Json& one : cases)
    golden.push_back(read_case(one, text("{}: cases[{}]", source, golden.size())));
  return golden;
}

}  // namespace muonbench
