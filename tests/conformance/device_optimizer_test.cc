// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "tests/conformance/cut_arrays.h"
#include "tests/conformance/device_conformance.h"
#include "tests/reference/naive_optimizer.h"

namespace muonbench {
namespace {

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

}  // namespace
}  // namespace muonbench
