// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/key_path.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/base/check.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

/// A number's digits without point, sign and exponent, trailing zeros dropped; `power` of ten times them is
/// the number.
struct Decimal {
  std::string digits;
  std::int64_t power = 0;
  bool negative = false;
};

Decimal decimal_of(std::string_view written) {
  // No number that fits 64 bits needs a larger exponent; the bound keeps the sums below from overflowing.
  constexpr std::int64_t kLargestPower = 1'000'000'000;
  Decimal decimal;
  const std::size_t exponent = written.find_first_of("eE");
  bool after_point = false;
  for (const char c : written.substr(0, exponent)) {
    if (c == '-') decimal.negative = true;
    if (c == '.') after_point = true;
    if (c < '0' || c > '9') continue;
    decimal.digits += c;
    if (after_point) --decimal.power;
  }
  if (exponent != std::string_view::npos) {
    std::string_view digits = written.substr(exponent + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    std::int64_t power = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), power);
    if (result.ec != std::errc()) power = digits.front() == '-' ? -kLargestPower : kLargestPower;
    decimal.power += std::clamp(power, -kLargestPower, kLargestPower);
  }
  while (!decimal.digits.empty() && decimal.digits.back() == '0') {
    decimal.digits.pop_back();
    ++decimal.power;
  }
  return decimal;
}

double nearest_double(const std::string& written) {
  double value = 0;
  const auto result = std::from_chars(written.data(), written.data() + written.size(), value);
  // Too large was refused by the parser already; what is left is too small: 0.
  return result.ec == std::errc() ? value : 0.0;
}

bool inside(const NumberRule& rule, double value) {
  if (rule.interval == Interval::kOpenBelow && value == rule.min) return false;
  if (rule.interval == Interval::kOpenAbove && value == rule.max) return false;
  return value >= rule.min && value <= rule.max;
}

struct Assign {
  const Rule& rule;
  const Key& key;

  void operator()(std::monostate) const {}
  void operator()(bool* member) const { *member = key.flag(); }
  void operator()(double* member) const { *member = key.number(std::get<NumberRule>(rule)); }
  void operator()(std::string* member) const {
    *member = std::holds_alternative<WordRule>(rule) ? key.word(std::get<WordRule>(rule)) : key.text_value();
  }
  void operator()(const WordField& field) const { field.choose(key.word(std::get<WordRule>(rule))); }
  template <class Integer>
  void operator()(Integer* member) const {
    const std::uint64_t value = key.integer(std::get<IntegerRule>(rule));
    *member = static_cast<Integer>(value);
    MUONBENCH_CHECK(static_cast<std::uint64_t>(*member) == value, "{} = {}", key.path(), value);
  }
};

}  // namespace

std::optional<std::uint64_t> exact_integer(std::string_view digits) {
  constexpr std::int64_t kMostZeros = 20;
  const Decimal decimal = decimal_of(digits);
  const std::size_t first = decimal.digits.find_first_not_of('0');
  if (first == std::string::npos) return 0;
  if (decimal.negative || decimal.power < 0 || decimal.power > kMostZeros) return std::nullopt;
  const std::string whole =
      decimal.digits.substr(first) + std::string(static_cast<std::size_t>(decimal.power), '0');
  std::uint64_t value = 0;
  const auto result = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  return result.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::string override_source(const std::string& override_text) {
  constexpr std::size_t kMostShown = 100;
  return text("--set {}", cut_text(override_text, kMostShown));
}

Key Key::operator/(std::string_view name) const {
  const JsonNode* child = is(JsonNode::Kind::kObject) ? node_->find(name) : nullptr;
  return {*document_, child, join_path(path_, name)};
}

Key Key::at(std::string_view dotted_path) const {
  const std::size_t dot = dotted_path.find('.');
  if (dot == std::string_view::npos) return *this / dotted_path;
  return (*this / dotted_path.substr(0, dot)).at(dotted_path.substr(dot + 1));
}

Key Key::operator[](std::size_t index) const {
  return {*document_, &node_->items.at(index), text("{}[{}]", path_, index)};
}

std::string Key::got() const { return node_ == nullptr ? "nothing" : render(*node_); }

void Key::refuse(const std::string& message) const {
  const auto origin = static_cast<std::size_t>(node_ == nullptr ? 0 : node_->origin);
  const std::string source =
      origin == 0 ? document_->source : override_source(document_->overrides[origin - 1]);
  throw ConfigError(path_.empty() ? text("{}: {}", source, message)
                                  : text("{}: {}: {}", source, path_, message));
}

void Key::reject(const std::string& expected, const std::string& got, const std::string& hint) const {
  refuse(text("expected {}, got {}{}", expected, got, hint));
}

std::optional<std::uint64_t> Key::whole() const {
  return is(JsonNode::Kind::kNumber) ? exact_integer(node_->text) : std::nullopt;
}

std::uint64_t Key::integer(const IntegerRule& rule) const {
  const std::optional<std::uint64_t> value = whole();
  if (!value || *value < static_cast<std::uint64_t>(rule.min) || *value > rule.max) reject(expected_by(rule));
  return *value;
}

double Key::number(const NumberRule& rule) const {
  if (!is(JsonNode::Kind::kNumber)) reject(expected_by(rule));
  const double value = nearest_double(node_->text);
  if (!inside(rule, value)) reject(expected_by(rule));
  const bool zero = decimal_of(node_->text).digits.empty();
  if (rule.precision == Precision::kFp32) {
    const double rounded = static_cast<float>(value);
    if (!inside(rule, rounded)) reject(expected_by(rule) + ", after rounding to fp32 too");
    if (rounded == 0.0 && !zero) reject(expected_by(rule) + ", and none that fp32 rounds to 0");
  }
  if (value == 0.0 && !zero) reject(expected_by(rule) + ", and none that is rounded to 0");
  return value;
}

bool Key::flag() const {
  if (!is(JsonNode::Kind::kFlag)) reject(expected_by(FlagRule{}));
  return node_->flag;
}

std::string Key::text_value() const {
  if (!is(JsonNode::Kind::kText) || node_->text.empty()) reject(expected_by(TextRule{}));
  return node_->text;
}

std::string Key::word(const WordRule& rule) const {
  if (!is(JsonNode::Kind::kText)) reject(expected_by(rule));
  const std::string& word = node_->text;
  if (std::find(rule.allowed.begin(), rule.allowed.end(), word) != rule.allowed.end()) return word;
  if (std::find(rule.later.begin(), rule.later.end(), word) != rule.later.end())
    reject(text("{} (this build does not honour {} yet)", expected_by(rule), word));
  const std::string nearest = nearest_name(word, rule.allowed);
  reject(expected_by(rule), got(), nearest.empty() ? "" : text(", did you mean {}?", nearest));
}

void assign(const Field& field, const Rule& rule, const Key& key) { std::visit(Assign{rule, key}, field); }

}  // namespace muonbench
