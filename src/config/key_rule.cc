// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/config/key_rule.h"

#include "src/base/text.h"

namespace muonbench {
namespace {

struct ExpectedBy {
  std::string operator()(const IntegerRule& rule) const {
    return static_cast<std::uint64_t>(rule.min) == rule.max
               ? text("{}", rule.min)
               : text("an integer in {}..{}", rule.min, rule.max);
  }
  std::string operator()(const NumberRule& rule) const {
    const char left = rule.interval == Interval::kOpenBelow ? '(' : '[';
    const char right = rule.interval == Interval::kOpenAbove ? ')' : ']';
    return rule.precision == Precision::kDouble
               ? text("a number in {}{}, {}{}", left, rule.min, rule.max, right)
               : text("a number in {}{}, {}{}", left, static_cast<float>(rule.min),
                      static_cast<float>(rule.max), right);
  }
  std::string operator()(const FlagRule&) const { return "true or false"; }
  std::string operator()(const TextRule&) const { return "a non-empty string"; }
  std::string operator()(const WordRule& rule) const {
    return rule.allowed.size() == 1 ? rule.allowed.front() : text("one of {}", join(rule.allowed));
  }
  std::string operator()(const OwnRule& rule) const { return rule.expected; }
};

struct TypeOf {
  std::string operator()(const IntegerRule&) const { return "int"; }
  std::string operator()(const NumberRule&) const { return "number"; }
  std::string operator()(const FlagRule&) const { return "bool"; }
  std::string operator()(const TextRule&) const { return "string"; }
  std::string operator()(const WordRule&) const { return "string"; }
  std::string operator()(const OwnRule& rule) const { return rule.type; }
};

}  // namespace

std::string expected_by(const Rule& rule) { return std::visit(ExpectedBy{}, rule); }

std::string type_of(const Rule& rule) { return std::visit(TypeOf{}, rule); }

}  // namespace muonbench
