// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "tests/conformance/ns_runner.h"

#include "src/base/error.h"
#include "src/ns/coefficients.h"
#include "src/ns/schedule.h"

namespace muonbench {
namespace {

using reference::Arithmetic;
using reference::relative_error;

constexpr MatmulPrecision kHighest = MatmulPrecision::kHighest;
constexpr MatmulPrecision kMedium = MatmulPrecision::kMedium;

TEST_P(DeviceConformance, NsOfEverySetIsThePolynomialOfTheMatrix) {
  for (const CoefficientSet& set : coefficient_sets()) {
    const int steps = set.name == "simple" ? 5 : static_cast<int>(set.entries.size());
    for (const NsOptions& options : supported(device(), ns_options(set.name, steps, kHighest))) {
      for (const Shape shape : kNsShapes) {
        // One singular value, 1, where cans and polar_express are so steep that fp32 keeps three digits. The
        // sets that are flat there have a test of their own.
        if (shape.min_dim() == 1) continue;
        const HostMatrix in = random_matrix(shape, 11);
        const HostMatrix out = orthogonalized(device(), in, options);
        EXPECT_LT(relative_error(as_reference(out), expected(in, options, Arithmetic::kExact)), kFp32Error)
            << set.name << " " << shape.rows << " x " << shape.cols;
      }
    }
  }
}

TEST_P(DeviceConformance, NsMovesEveryElementOfAConstantMatrixByTheMapOfOne) {
  // A constant matrix has one singular value, 1 after normalisation: each element becomes f(1) / sqrt(rows *
  // cols), and with the spectral factor f(1) / sqrt(min).
  struct Row {
    const char* type;
    double f1;
  };
  constexpr std::array kRows = {Row{"quintic", 0.978346}, Row{"simple", 0.696436}};
  for (const auto& [type, f1] : kRows) {
    for (const Shape shape : {Shape{1, 7}, Shape{7, 1}, Shape{1, 1}, Shape{1, 4096}, Shape{4096, 1},
                              Shape{9, 16}, Shape{5, 16}, Shape{16, 8}}) {
      for (NsOptions options : supported(device(), ns_options(type, 5, kHighest))) {
        options.scale_mode = ScaleMode::kSpectral;
        const HostMatrix out = orthogonalized(device(), constant_matrix(shape, 0.37F), options);
        const double wanted = f1 / std::sqrt(static_cast<double>(shape.min_dim()));
        // f1 has six digits. A sum of n products, one after the other, is off by n halves of a last place at
        // most, and near 1 no step makes more of it than it was.
        const double slack = 1e-5 + static_cast<double>(shape.max_dim()) * 0x1p-24;
        for (const float value : out.values)
          ASSERT_NEAR(value, wanted, slack) << type << " " << shape.rows << " x " << shape.cols;
      }
    }
  }
}

TEST_P(DeviceConformance, NsOfTheIdentityIsTheMapOfOneOverTheRootOfItsSize) {
  struct Row {
    std::int64_t n;
    double quintic, simple;
  };
  constexpr std::array kRows = {Row{4, 0.985869, 0.765439}, Row{8, 0.986131, 1.066968},
                                Row{16, 0.987218, 0.714526}, Row{64, 0.984272, 0.688140}};
  for (const Row& row : kRows) {
    HostMatrix identity = constant_matrix({row.n, row.n}, 0.0F);
    for (std::int64_t i = 0; i < row.n; ++i)
      identity.values[static_cast<std::size_t>(i * (row.n + 1))] = 1.0F;
    for (const auto& [type, diagonal] :
         {std::pair{"quintic", row.quintic}, std::pair{"simple", row.simple}}) {
      const HostMatrix out = orthogonalized(device(), identity, ns_options(type, 5, kHighest));
      for (std::int64_t i = 0; i < row.n * row.n; ++i)
        ASSERT_NEAR(out.values[static_cast<std::size_t>(i)], i % (row.n + 1) == 0 ? diagonal : 0.0, 1e-5)
            << type;
    }
  }
}

TEST_P(DeviceConformance, NsPutsSingularValuesIntoTheBandOfTheSet) {
  struct Row {
    const char* type;
    double low, high;
  };
  // Bands over normalised singular values in [0.05, 1]. bf16 moves their ends by a few of its units (2^-8).
  constexpr std::array kRows = {Row{"quintic", 0.9778, 1.1448}, Row{"simple", 0.6818, 1.2016}};
  for (const auto& [type, low, high] : kRows) {
    for (const auto& [precision, slack] : {std::pair{kHighest, 1e-4}, std::pair{kMedium, 0.03}}) {
      const HostMatrix in = random_matrix({24, 96}, 12);
      const std::vector<double> before = reference::singular_values(as_reference(in));
      ASSERT_GT(before.back() / as_reference(in).norm(), 0.05);
      const HostMatrix out = orthogonalized(device(), in, ns_options(type, 5, precision));
      const std::vector<double> after = reference::singular_values(as_reference(out));
      EXPECT_GT(after.back(), low - slack) << type;
      EXPECT_LT(after.front(), high + slack) << type;
    }
  }
}

TEST_P(DeviceConformance, NsIsExactWhereEveryIntermediateIs) {
  for (const NsCoefficients step : {NsCoefficients{2.0, -1.5, 0.5}, NsCoefficients{1.5, -0.5, 0.0}}) {
    for (const NsOptions& options : supported(device(), ns_options(step, kHighest))) {
      for (const Shape shape : kExactNsShapes) {
        const HostMatrix in = random_signs(shape, 13);
        EXPECT_EQ(as_reference(orthogonalized(device(), in, options)).values,
                  expected(in, options, Arithmetic::kExact).values)
            << shape.rows << " x " << shape.cols << " c " << step.c;
      }
    }
  }
}

TEST_P(DeviceConformance, NsOfTheTransposeIsTheTranspose) {
  for (const NsOptions& base : supported(device(), ns_options("quintic", 5, kHighest))) {
    NsOptions options = base;
    options.scale_mode = ScaleMode::kSpectral;
    for (const Shape shape : kNsShapes) {
      const HostMatrix in = random_matrix(shape, 17);
      const HostMatrix there = orthogonalized(device(), in, options);
      const HostMatrix back = transposed(orthogonalized(device(), transposed(in), options));
      // The same products, summed in another order.
      EXPECT_LT(relative_error(as_reference(back), as_reference(there)), kFp32Error);
    }
  }
}

TEST_P(DeviceConformance, NsScalesByTwoRoundedMultiplications) {
  const HostMatrix in = random_matrix({7, 33}, 18);
  NsOptions options = ns_options("quintic", 5, kHighest);
  const HostMatrix unscaled = orthogonalized(device(), in, options);
  options.extra_scale_factor = 0.2;
  for (const ScaleMode mode : {ScaleMode::kSpectral, ScaleMode::kUnitRmsNorm, ScaleMode::kShapeScaling}) {
    options.scale_mode = mode;
    HostMatrix wanted = unscaled;
    for (float& value : wanted.values) {
      value = value * scale_factor(mode, in.shape);
      value = value * 0.2F;
    }
    EXPECT_EQ(bits(orthogonalized(device(), in, options).values), bits(wanted.values));
  }
}

TEST_P(DeviceConformance, NsInPlaceHasTheBitsOfOutOfPlace) {
  for (const Shape shape : {Shape{24, 40}, Shape{40, 24}}) {
    const HostMatrix in = random_matrix(shape, 22);
    const NsOptions options = for_device(device(), ns_options("quintic", 5, kMedium));
    const DeviceArray<float> matrix(device(), in.values);
    const DeviceArray<float> scratch = make_scratch(device(), shape, 1);
    run_once(device(), BoundNewtonSchulz{shape, {{matrix.data(), matrix.data()}}, scratch.data(), options});
    EXPECT_EQ(bits(matrix.read()), bits(orthogonalized(device(), in, options).values));
  }
}

TEST_P(DeviceConformance, NsOfSeveralMatricesLeavesInputsAloneAndRepeatsItsBits) {
  const Shape shape{24, 40};
  const NsOptions options = for_device(device(), ns_options("quintic", 5, kHighest));
  const HostMatrix first = random_matrix(shape, 23), second = random_matrix(shape, 24);
  const DeviceArray<float> in1(device(), first.values), in2(device(), second.values);
  const DeviceArray<float> out1(device(), first.values), out2(device(), second.values);
  const DeviceArray<float> scratch = make_scratch(device(), shape, 2);
  const auto kernel = device().prepare(BoundNewtonSchulz{
      shape, {{in1.data(), out1.data()}, {in2.data(), out2.data()}}, scratch.data(), options});
  const Queue queue = device().make_queue();
  const HostMatrix alone1 = orthogonalized(device(), first, options);
  const HostMatrix alone2 = orthogonalized(device(), second, options);
  std::vector<std::uint32_t> before;
  for (int step = 0; step < 2; ++step) {
    kernel->enqueue(queue, {.step = step});
    device().synchronize(queue);
    const HostMatrix both1{shape, out1.read()}, both2{shape, out2.read()};
    if (options.batching == NsBatching::kInTurn) {
      EXPECT_EQ(bits(both1.values), bits(alone1.values));
      EXPECT_EQ(bits(both2.values), bits(alone2.values));
    }
    // Together, another algorithm may add up the same products in another order.
    EXPECT_LT(relative_error(as_reference(both1), as_reference(alone1)), kFp32Error);
    EXPECT_LT(relative_error(as_reference(both2), as_reference(alone2)), kFp32Error);
    if (step > 0) {
      EXPECT_EQ(bits(both1.values), before);
    }
    before = bits(both1.values);
  }
  EXPECT_EQ(bits(in1.read()), bits(first.values));
  EXPECT_EQ(bits(in2.read()), bits(second.values));
}

TEST_P(DeviceConformance, NsOfABatchIsThatOfEachOfItsMatrices) {
  // Enough elements for a device to deal a matrix out, enough matrices for one to be under way while another
  // begins.
  const Shape shape{130, 1001};
  constexpr int kCount = 7;
  for (const MatmulPrecision precision : {kHighest, kMedium}) {
    const NsOptions options = for_device(device(), ns_options("quintic", 5, precision));
    std::vector<HostMatrix> in;
    std::vector<DeviceArray<float>> memory;
    BoundNewtonSchulz work{shape, {}, nullptr, options};
    for (int i = 0; i < kCount; ++i) {
      // Norms far apart: one matrix's would not do for its neighbour.
      in.push_back(times(random_matrix(shape, 30U + static_cast<unsigned>(i)), std::ldexp(1.0F, 3 * i)));
      memory.emplace_back(device(), in.back().values);
      work.items.emplace_back(memory.back().data(), memory.back().data());
    }
    const DeviceArray<float> scratch = make_scratch(device(), shape, kCount);
    work.scratch = scratch.data();
    run_once(device(), std::move(work));
    for (int i = 0; i < kCount; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const HostMatrix alone = orthogonalized(device(), in[at], options);
      // Another algorithm may add up the same products in another order; in bf16 that flips last places.
      const double slack = precision == kHighest ? kFp32Error : 0x1p-6;
      EXPECT_LT(relative_error(as_reference({shape, memory[at].read()}), as_reference(alone)), slack) << i;
    }
  }
}

TEST_P(DeviceConformance, NsRefusesWhatCapabilitiesDoNotList) {
  const Capabilities capabilities = device().capabilities();
  const DeviceArray<float> memory(device(), std::vector<float>(1000));
  const auto prepare = [&](MatmulPrecision precision, NsAlgorithm algorithm) {
    NsOptions options = for_device(device(), ns_options("quintic", 5, precision));
    options.algorithm = algorithm;
    return device().prepare(
        BoundNewtonSchulz{{8, 8}, {{memory.data(), memory.data()}}, memory.data() + 64, options});
  };
  if (!capabilities.tf32) {
    EXPECT_THROW(prepare(MatmulPrecision::kHigh, NsAlgorithm::kGemm), RuntimeFailure);
  }
  if (!capabilities.syrk) {
    EXPECT_THROW(prepare(kHighest, NsAlgorithm::kSyrk), RuntimeFailure);
  }
  if (!capabilities.gram) {
    EXPECT_THROW(prepare(kHighest, NsAlgorithm::kGram), RuntimeFailure);
  }
  EXPECT_THROW(prepare(kHighest, NsAlgorithm::kAuto), RuntimeFailure);
}

}  // namespace
}  // namespace muonbench
