// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tests/conformance/cut_arrays.h"
#include "tests/conformance/device_conformance.h"
#include "tests/reference/naive_optimizer.h"

namespace muonbench {
namespace {

struct AdamArrays {
  std::vector<float> master, exp_avg, exp_avg_sq, weight;
};

constexpr AdamRule kAdam{.lr = 1e-3F, .beta1 = 0.9F, .beta2 = 0.95F, .eps = 1e-8F, .weight_decay = 0.1F};

// `steps` steps from fresh moments.
AdamArrays adam_on(Device& device, const AdamRule& rule, int steps, const std::vector<float>& gradients,
                   const std::vector<std::int64_t>& cuts) {
  const DeviceArray<float> gradient(device, gradients);
  const DeviceArray<float> master(device, normal_values(kLength, 6));
  const DeviceArray<float> exp_avg(device, std::vector<float>(kLength));
  const DeviceArray<float> exp_avg_sq(device, std::vector<float>(kLength));
  const DeviceArray<std::uint16_t> weight(device, std::vector<std::uint16_t>(kLength));
  BoundAdam work{.rule = rule, .items = {}};
  for (const auto [at, size] : pieces(cuts))
    work.items.push_back({gradient.data() + at, master.data() + at, exp_avg.data() + at,
                          exp_avg_sq.data() + at, weight.data() + at, size});
  for (int step = 0; step < steps; ++step) run_once(device, work, step);
  EXPECT_EQ(bits(gradient.read()), bits(gradients));
  return {master.read(), exp_avg.read(), exp_avg_sq.read(), from_bf16(weight.read())};
}

// The same by the definition; `kept` is what becomes of a moment between steps.
template <class Kept>
AdamArrays adam_by_definition(const AdamRule& rule, int steps, const std::vector<float>& gradients,
                              Kept kept) {
  const reference::AdamConstants constants{
      rule.lr,           static_cast<float>(rule.beta1), static_cast<float>(rule.beta2), rule.eps,
      rule.weight_decay, rule.decoupled_weight_decay};
  AdamArrays expected{normal_values(kLength, 6), {}, {}, {}};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    reference::AdamElement element{gradients[i], expected.master[i], 0, 0};
    for (int step = 1; step <= steps; ++step) {
      element = reference::adam_step(element, constants, step);
      element.exp_avg = kept(element.exp_avg);
      element.exp_avg_sq = kept(element.exp_avg_sq);
    }
    expected.master[i] = element.master;
    expected.exp_avg.push_back(element.exp_avg);
    expected.exp_avg_sq.push_back(element.exp_avg_sq);
  }
  expected.weight = nearest_bf16(expected.master);
  return expected;
}

void expect_bits(const AdamArrays& actual, const AdamArrays& expected) {
  EXPECT_EQ(bits(actual.master), bits(expected.master));
  EXPECT_EQ(bits(actual.exp_avg), bits(expected.exp_avg));
  EXPECT_EQ(bits(actual.exp_avg_sq), bits(expected.exp_avg_sq));
  EXPECT_EQ(bits(actual.weight), bits(expected.weight));
}

TEST_P(DeviceConformance, AdamHasTheBitsOfItsDefinition) {
  const std::vector<float> gradients = normal_values(kLength, 7);
  for (const bool decoupled : {true, false}) {
    AdamRule rule = kAdam;
    rule.decoupled_weight_decay = decoupled;
    const AdamArrays expected = adam_by_definition(rule, 3, gradients, [](float moment) { return moment; });
    for (const auto& cuts : {kWhole, kPieces})
      expect_bits(adam_on(device(), rule, 3, gradients, cuts), expected);
  }
}

// Steps with moments in bf16, which are rounded between steps alone.
AdamArrays adam_in_bf16_on(Device& device, const AdamRule& rule, int steps,
                           const std::vector<float>& gradients, const std::vector<std::int64_t>& cuts) {
  const DeviceArray<float> gradient(device, gradients);
  const DeviceArray<float> master(device, normal_values(kLength, 6));
  const DeviceArray<std::uint16_t> exp_avg(device, std::vector<std::uint16_t>(kLength));
  const DeviceArray<std::uint16_t> exp_avg_sq(device, std::vector<std::uint16_t>(kLength));
  const DeviceArray<std::uint16_t> weight(device, std::vector<std::uint16_t>(kLength));
  BoundAdam work{.rule = rule, .items = {}, .moments = DType::kBf16};
  for (const auto [at, size] : pieces(cuts))
    work.items.push_back({gradient.data() + at, master.data() + at, exp_avg.data() + at,
                          exp_avg_sq.data() + at, weight.data() + at, size});
  for (int step = 0; step < steps; ++step) run_once(device, work, step);
  return {master.read(), from_bf16(exp_avg.read()), from_bf16(exp_avg_sq.read()), from_bf16(weight.read())};
}

TEST_P(DeviceConformance, AdamRoundsMomentsInBf16WhenItStoresThemAndNotBefore) {
  const std::vector<float> gradients = normal_values(kLength, 7);
  const AdamArrays expected =
      adam_by_definition(kAdam, 4, gradients, [](float moment) { return nearest_bf16(moment); });
  for (const auto& cuts : {kWhole, kPieces})
    expect_bits(adam_in_bf16_on(device(), kAdam, 4, gradients, cuts), expected);
}

TEST_P(DeviceConformance, AdamTakesTheSameFirstStepWhateverTheMomentsDtype) {
  const std::vector<float> gradients = normal_values(kLength, 7);
  const AdamArrays narrow = adam_in_bf16_on(device(), kAdam, 1, gradients, kWhole);
  EXPECT_EQ(bits(narrow.master), bits(adam_on(device(), kAdam, 1, gradients, kWhole).master));
}

TEST_P(DeviceConformance, AdamWithMomentsInBf16StaysWithinTheirRoundingOfFp64) {
  // Each store moves a moment by at most 2^-9 of it. With equal gradients moments only grow, so that step k
  // takes ones that are off by (k - 1) 2^-9 and m / sqrt(v) by 1.5 times that: in five steps 1.5 (1 + 2 + 3 +
  // 4) 2^-9 = 2.93 % of lr. fp32 adds half a unit of a weight below 8 a step.
  AdamRule rule = kAdam;
  rule.weight_decay = 0.0F;
  constexpr int kSteps = 5;
  const std::vector<float> gradients = normal_values(kLength, 7);
  const std::vector<float> before = normal_values(kLength, 6);
  const AdamArrays after = adam_in_bf16_on(device(), rule, kSteps, gradients, kWhole);
  double largest = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    double w = before[i], m = 0.0, v = 0.0;
    for (int step = 1; step <= kSteps; ++step) {
      const double g = gradients[i];
      m = rule.beta1 * m + (1.0 - rule.beta1) * g;
      v = rule.beta2 * v + (1.0 - rule.beta2) * g * g;
      w -= double{rule.lr} * (m / (1.0 - std::pow(rule.beta1, step))) /
           (std::sqrt(v / (1.0 - std::pow(rule.beta2, step))) + double{rule.eps});
    }
    largest = std::max(largest, std::fabs(w - double{after.master[i]}));
  }
  EXPECT_LT(largest, 0.0293 * double{rule.lr} + 2e-6);
  EXPECT_GT(largest, 0.0);
}

TEST_P(DeviceConformance, AdamTakesAFirstStepOfSizeLr) {
  AdamRule rule = kAdam;
  rule.weight_decay = 0.0F;
  const std::vector<float> before = normal_values(kLength, 6);
  const AdamArrays after = adam_on(device(), rule, 1, std::vector<float>(kLength, 2.0F), kWhole);
  // m / (1 - b1) = g and v / (1 - b2) = g^2. Rounding: the step's own few units, and half a unit of a weight
  // below 8.
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after.master[i], before[i] - rule.lr, 5e-7F);
}

TEST_P(DeviceConformance, AdamWithoutGradientAndDecayLeavesTheMasterAlone) {
  AdamRule rule = kAdam;
  rule.weight_decay = 0.0F;
  const AdamArrays after = adam_on(device(), rule, 2, std::vector<float>(kLength), kWhole);
  EXPECT_EQ(bits(after.master), bits(normal_values(kLength, 6)));
}

}  // namespace
}  // namespace muonbench
