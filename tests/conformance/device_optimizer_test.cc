// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "tests/conformance/device_conformance.h"
#include "tests/reference/naive_optimizer.h"

namespace muonbench {
namespace {

// Long enough to leave a remainder after any vector or block width.
constexpr std::int64_t kLength = 5003;
// One piece; and pieces that begin anywhere, an empty one among them.
const std::vector<std::int64_t> kWhole = {0};
const std::vector<std::int64_t> kPieces = {0, 1, 17, 17, 1024, 1041, 3333, 5002};

struct Piece {
  std::int64_t begin, size;
};
std::vector<Piece> pieces(const std::vector<std::int64_t>& cuts) {
  std::vector<Piece> result;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    result.push_back({cuts[i], (i + 1 < cuts.size() ? cuts[i + 1] : kLength) - cuts[i]});
  return result;
}

std::vector<float> from_bf16(const std::vector<std::uint16_t>& narrow) {
  std::vector<float> values;
  for (const std::uint16_t value : narrow)
    values.push_back(std::bit_cast<float>(std::uint32_t{value} << 16U));
  return values;
}

// Nearest bf16 number, by comparing the two neighbours: another way than the one under test.
float nearest_bf16(float value) {
  const float below = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000U);
  const float above = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) & 0xffff0000U) + 0x10000U);
  const double to_below = std::fabs(double{value} - below);
  const double to_above = std::fabs(double{value} - above);
  const bool below_is_even = (std::bit_cast<std::uint32_t>(below) >> 16U) % 2 == 0;
  return to_below < to_above || (to_below == to_above && below_is_even) ? below : above;
}

std::vector<float> nearest_bf16(std::vector<float> values) {
  for (float& value : values) value = nearest_bf16(value);
  return values;
}

struct MomentumArrays {
  std::vector<float> gradient = normal_values(kLength, 1);
  std::vector<float> master = normal_values(kLength, 2);
  std::vector<float> momentum = normal_values(kLength, 3);
  std::vector<float> ns_input = std::vector<float>(kLength, -7.0F);
};

MomentumArrays expected_momentum(MomentumArrays arrays, const MomentumRule& rule) {
  const reference::MomentumScalars scalars{rule.decay_factor(), rule.l2_factor(),
                                           static_cast<float>(rule.momentum), rule.nesterov};
  for (std::size_t i = 0; i < arrays.gradient.size(); ++i) {
    const reference::MomentumElement after = reference::momentum_step(
        {arrays.gradient[i], arrays.master[i], arrays.momentum[i], arrays.ns_input[i]}, scalars);
    arrays.gradient[i] = after.gradient;
    arrays.master[i] = after.master;
    arrays.momentum[i] = after.momentum;
    arrays.ns_input[i] = after.ns_input;
  }
  return arrays;
}

MomentumArrays momentum_on(Device& device, const MomentumArrays& before, const MomentumRule& rule,
                           const std::vector<std::int64_t>& cuts) {
  const DeviceArray<float> gradient(device, before.gradient);
  const DeviceArray<float> master(device, before.master);
  const DeviceArray<float> momentum(device, before.momentum);
  const DeviceArray<float> ns_input(device, before.ns_input);
  BoundMomentum work{.rule = rule, .items = {}};
  for (const auto [at, size] : pieces(cuts))
    work.items.push_back(
        {gradient.data() + at, master.data() + at, momentum.data() + at, ns_input.data() + at, size});
  run_once(device, work);
  return {gradient.read(), master.read(), momentum.read(), ns_input.read()};
}

void expect_equal_bits(const MomentumArrays& actual, const MomentumArrays& expected) {
  EXPECT_EQ(bits(actual.gradient), bits(expected.gradient));
  EXPECT_EQ(bits(actual.master), bits(expected.master));
  EXPECT_EQ(bits(actual.momentum), bits(expected.momentum));
  EXPECT_EQ(bits(actual.ns_input), bits(expected.ns_input));
}

TEST_P(DeviceConformance, MomentumHasTheBitsOfItsDefinition) {
  const MomentumArrays before;
  for (const auto method : {WeightDecayMethod::kDecoupled, WeightDecayMethod::kIndependent,
                            WeightDecayMethod::kL2, WeightDecayMethod::kPalm}) {
    for (const float weight_decay : {0.0F, 0.1F}) {
      for (const float momentum : {0.0F, 0.3F, 0.5F, 0.9F, 0.95F, 1.0F}) {
        for (const bool nesterov : {false, true}) {
          const MomentumRule rule{0.02F, momentum, weight_decay, nesterov, method};
          SCOPED_TRACE(testing::Message()
                       << "method " << static_cast<int>(method) << " weight_decay " << weight_decay
                       << " momentum " << momentum << " nesterov " << nesterov);
          expect_equal_bits(momentum_on(device(), before, rule, kWhole), expected_momentum(before, rule));
        }
      }
    }
  }
}

TEST_P(DeviceConformance, MomentumDoesNotDependOnHowAnArrayIsCut) {
  const MomentumArrays before;
  const MomentumRule rule{0.02F, 0.95F, 0.1F, true, WeightDecayMethod::kDecoupled};
  expect_equal_bits(momentum_on(device(), before, rule, kPieces),
                    momentum_on(device(), before, rule, kWhole));
}

TEST_P(DeviceConformance, MomentumWithoutDecayLeavesMasterAndGradientAlone) {
  MomentumArrays before;
  before.master[5] = -0.0F;
  const MomentumRule rule{0.02F, 0.95F, 0.0F, true, WeightDecayMethod::kL2};
  const MomentumArrays after = momentum_on(device(), before, rule, kWhole);
  EXPECT_EQ(bits(after.master), bits(before.master));
  EXPECT_EQ(bits(after.gradient), bits(before.gradient));
}

TEST_P(DeviceConformance, MomentumOfZeroIsTheGradientAndOfOneIsTheOldMomentum) {
  const MomentumArrays before;
  for (const bool nesterov : {false, true}) {
    const MomentumArrays forgets = momentum_on(device(), before, {0.02F, 0.0F, 0.0F, nesterov}, kWhole);
    EXPECT_EQ(bits(forgets.momentum), bits(before.gradient));
    EXPECT_EQ(bits(forgets.ns_input), bits(before.gradient));
    const MomentumArrays keeps = momentum_on(device(), before, {0.02F, 1.0F, 0.0F, nesterov}, kWhole);
    EXPECT_EQ(bits(keeps.momentum), bits(before.momentum));
    EXPECT_EQ(bits(keeps.ns_input), bits(before.momentum));
  }
}

TEST_P(DeviceConformance, MomentumOfZerosStaysZero) {
  // Pad rows live by this.
  const std::vector<float> zeros(kLength);
  const MomentumRule rule{0.02F, 0.95F, 0.1F, true, WeightDecayMethod::kDecoupled};
  const MomentumArrays after =
      momentum_on(device(), {zeros, zeros, zeros, std::vector<float>(kLength, 3.0F)}, rule, kWhole);
  for (const auto* values : {&after.master, &after.momentum, &after.ns_input})
    EXPECT_TRUE(std::all_of(values->begin(), values->end(), [](float value) { return value == 0.0F; }));
}

TEST_P(DeviceConformance, UpdateRoundsTheProductAndThenTheSum) {
  const std::vector<float> before = normal_values(kLength, 4);
  const std::vector<float> update = normal_values(kLength, 5);
  std::vector<float> expected = before;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float step = -0.0123F * update[i];
    expected[i] = expected[i] + step;
  }
  for (const auto& cuts : {kWhole, kPieces}) {
    const DeviceArray<float> master(device(), before);
    const DeviceArray<float> direction(device(), update);
    const DeviceArray<std::uint16_t> weight(device(), std::vector<std::uint16_t>(kLength));
    BoundUpdate work{.lr = 0.0123F, .items = {}};
    for (const auto [at, size] : pieces(cuts))
      work.items.push_back({direction.data() + at, master.data() + at, weight.data() + at, size});
    run_once(device(), work);
    EXPECT_EQ(bits(master.read()), bits(expected));
    EXPECT_EQ(bits(from_bf16(weight.read())), bits(nearest_bf16(expected)));
  }
}

TEST_P(DeviceConformance, UpdateScalesItsUpdateByTwoProductsEachRounded) {
  const std::vector<float> before = normal_values(kLength, 4);
  const std::vector<float> update = nearest_bf16(normal_values(kLength, 5));
  const NsScale scale{.factor = 5.0990195F, .extra = 0.7F};
  std::vector<float> expected = before;
  std::vector<std::uint16_t> update_bf16;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float once = update[i] * scale.factor;
    const float twice = once * scale.extra;
    const float step = -0.0123F * twice;
    expected[i] = expected[i] + step;
    update_bf16.push_back(bf16_from_fp32(update[i]));
  }
  for (const auto& cuts : {kWhole, kPieces}) {
    for (const DType dtype : {DType::kFp32, DType::kBf16}) {
      const DeviceArray<float> master(device(), before);
      const DeviceArray<float> fp32(device(), update);
      const DeviceArray<std::uint16_t> bf16(device(), update_bf16);
      const DeviceArray<std::uint16_t> weight(device(), std::vector<std::uint16_t>(kLength));
      BoundUpdate work{.lr = 0.0123F, .items = {}};
      for (const auto [at, size] : pieces(cuts)) {
        const void* from = fp32.data() + at;
        if (dtype == DType::kBf16) from = bf16.data() + at;
        work.items.push_back({from, master.data() + at, weight.data() + at, size, dtype, scale});
      }
      run_once(device(), work);
      EXPECT_EQ(bits(master.read()), bits(expected));
      EXPECT_EQ(bits(from_bf16(weight.read())), bits(nearest_bf16(expected)));
    }
  }
}

TEST_P(DeviceConformance, UpdateWithoutAWeightCopyTouchesTheMasterAlone) {
  const DeviceArray<float> master(device(), {1.0F, 2.0F});
  const DeviceArray<float> direction(device(), {1.0F, -2.0F});
  run_once(device(), BoundUpdate{.lr = 0.5F, .items = {{direction.data(), master.data(), nullptr, 2}}});
  EXPECT_EQ(master.read(), (std::vector<float>{0.5F, 3.0F}));
  EXPECT_EQ(direction.read(), (std::vector<float>{1.0F, -2.0F}));
}

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

TEST_P(DeviceConformance, AdamHasTheBitsOfItsDefinition) {
  const std::vector<float> gradients = normal_values(kLength, 7);
  for (const bool decoupled : {true, false}) {
    AdamRule rule = kAdam;
    rule.decoupled_weight_decay = decoupled;
    const reference::AdamConstants constants{
        rule.lr,  static_cast<float>(rule.beta1), static_cast<float>(rule.beta2), rule.eps, rule.weight_decay,
        decoupled};
    AdamArrays expected{normal_values(kLength, 6), {}, {}, {}};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      reference::AdamElement element{gradients[i], expected.master[i], 0, 0};
      for (int step = 1; step <= 3; ++step) element = reference::adam_step(element, constants, step);
      expected.master[i] = element.master;
      expected.exp_avg.push_back(element.exp_avg);
      expected.exp_avg_sq.push_back(element.exp_avg_sq);
    }
    for (const auto& cuts : {kWhole, kPieces}) {
      const AdamArrays actual = adam_on(device(), rule, 3, gradients, cuts);
      EXPECT_EQ(bits(actual.master), bits(expected.master));
      EXPECT_EQ(bits(actual.exp_avg), bits(expected.exp_avg));
      EXPECT_EQ(bits(actual.exp_avg_sq), bits(expected.exp_avg_sq));
      EXPECT_EQ(bits(actual.weight), bits(nearest_bf16(expected.master)));
    }
  }
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
