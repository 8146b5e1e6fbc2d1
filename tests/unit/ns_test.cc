// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <set>
#include <string>

#include "tests/reference/naive_newton_schulz.h"
#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/ns/coefficients.h"
#include "src/ns/ns_slice.h"
#include "src/ns/schedule.h"

namespace muonbench {
namespace {

std::vector<reference::Polynomial> polynomials(const std::vector<NsCoefficients>& steps) {
  std::vector<reference::Polynomial> result;
  for (const NsCoefficients& step : steps) result.push_back({step.a, step.b, step.c});
  return result;
}

std::string refusal(std::string_view type, int num_steps, std::span<const NsCoefficients> custom = {}) {
  try {
    static_cast<void>(resolve_schedule(type, num_steps, custom));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

NsOptions options_of(std::string_view type, int num_steps, NsAlgorithm algorithm) {
  NsOptions options;
  options.steps = resolve_schedule(type, num_steps);
  options.algorithm = algorithm;
  return options;
}

TEST(CoefficientSets, HaveNamesOfTheirOwnAndASource) {
  std::set<std::string_view> names;
  for (const CoefficientSet& set : coefficient_sets()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_FALSE(set.entries.empty()) << set.name;
    EXPECT_EQ(set.source.substr(0, 8), "https://") << set.name;
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"simple", "quintic", "polar_express", "cans", "aol",
                                               "deepseekv4", "cubic5"}));
}

struct ScalarRow {
  std::string_view type;
  int steps;
  double at_1, at_half, at_tenth, at_hundredth, at_thousandth;
};

// Published values of each set's scalar map, to six digits. Those of (quintic, 10) tell cycling from
// repeating.
class ScalarMap : public testing::TestWithParam<ScalarRow> {};
INSTANTIATE_TEST_SUITE_P(
    Sets, ScalarMap,
    testing::Values(ScalarRow{"simple", 5, .696436, .765439, .712120, .698917, .470544},
                    ScalarRow{"quintic", 5, .978346, .985869, 1.019050, 1.018025, .474982},
                    ScalarRow{"quintic", 10, .980518, .996907, 1.021354, 1.023652, .986410},
                    ScalarRow{"polar_express", 5, 1.027297, .933330, .874442, 1.066024, .846195},
                    ScalarRow{"cans", 5, 1.005069, 1.096414, .916309, 1.113169, .886528},
                    ScalarRow{"deepseekv4", 10, 1.000014, 1.000163, 1.000061, 1.000019, 1.000001},
                    ScalarRow{"cubic5", 5, .774106, 1.097072, .801990, 1.021623, .119140},
                    ScalarRow{"aol", 4, -.993521, 1.007487, 1.003879, .865884, .103868},
                    ScalarRow{"aol", 5, .553649, -.621299, -.603955, .088723, .408608}),
    [](const testing::TestParamInfo<ScalarRow>& row) {
      return std::string(row.param.type) + "_" + std::to_string(row.param.steps);
    });

TEST_P(ScalarMap, TakesSingularValuesWherePublished) {
  const ScalarRow& row = GetParam();
  const auto steps = polynomials(resolve_schedule(row.type, row.steps));
  // Half a unit of the sixth digit, and a little for the table's own rounding.
  constexpr double kLastDigit = 6e-7;
  EXPECT_NEAR(reference::scalar_map(1.0, steps), row.at_1, kLastDigit);
  EXPECT_NEAR(reference::scalar_map(0.5, steps), row.at_half, kLastDigit);
  EXPECT_NEAR(reference::scalar_map(0.1, steps), row.at_tenth, kLastDigit);
  EXPECT_NEAR(reference::scalar_map(0.01, steps), row.at_hundredth, kLastDigit);
  EXPECT_NEAR(reference::scalar_map(0.001, steps), row.at_thousandth, kLastDigit);
}

struct SmallMatrixRow {
  std::string_view type;
  int steps;
  std::vector<double> result;
};

class SmallMatrix : public testing::TestWithParam<SmallMatrixRow> {};
INSTANTIATE_TEST_SUITE_P(
    Sets, SmallMatrix,
    testing::Values(
        SmallMatrixRow{
            "quintic", 5, {-.591517915, .110996901, .813511717, .707256076, .560561912, .413867748}},
        SmallMatrixRow{
            "simple", 5, {-.568290092, .057741943, .683773979, .563354684, .405612824, .247870963}},
        SmallMatrixRow{
            "polar_express", 8, {-.577791827, .115116695, .808025217, .706746021, .565757439, .424768857}},
        SmallMatrixRow{"cans", 5, {-.615061545, .100148989, .815359524, .699150009, .541369491, .383588973}},
        SmallMatrixRow{
            "deepseekv4", 10, {-.578025765, .115088309, .808202383, .706854057, .565782612, .424711167}},
        SmallMatrixRow{
            "cubic5", 5, {-.530054372, .163416516, .856887404, .785655004, .676187440, .566719876}}),
    [](const testing::TestParamInfo<SmallMatrixRow>& row) { return std::string(row.param.type); });

TEST_P(SmallMatrix, OfOneToSixBecomesWhatIsPublished) {
  const SmallMatrixRow& row = GetParam();
  const reference::Matrix x(2, 3, {1, 2, 3, 4, 5, 6});
  const auto steps = polynomials(resolve_schedule(row.type, row.steps));
  const reference::Matrix result = reference::newton_schulz(x, steps, reference::Arithmetic::kExact);
  // The ninth digit, once more for the conditioning of the smaller singular value (0.08 of the norm).
  for (std::size_t i = 0; i < row.result.size(); ++i) EXPECT_NEAR(result.values[i], row.result[i], 2e-9) << i;
}

TEST(ResolveSchedule, TakesThePrefixOfALongerSet) {
  const auto steps = resolve_schedule("quintic", 3);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0], (NsCoefficients{4.0848, -6.8946, 2.9270}));
  EXPECT_EQ(steps[2], (NsCoefficients{3.7418, -5.5913, 2.3037}));
}

TEST(ResolveSchedule, GoesOnByTheEndPolicyOfTheSet) {
  for (const CoefficientSet& set : coefficient_sets()) {
    if (set.end_policy == EndPolicy::kExact) continue;
    const auto steps = resolve_schedule(set.name, static_cast<int>(set.entries.size()) + 1);
    const bool cycles = set.end_policy == EndPolicy::kCycle;
    EXPECT_EQ(steps.back(), cycles ? set.entries.front() : set.entries.back()) << set.name;
  }
}

TEST(ResolveSchedule, RepeatsTheLastEntryOfTheSetsThatConverge) {
  for (const CoefficientSet& set : coefficient_sets()) {
    const bool converges = set.name == "polar_express" || set.name == "cans" || set.name == "deepseekv4";
    EXPECT_EQ(set.end_policy == EndPolicy::kRepeatLast, converges) << set.name;
    EXPECT_EQ(set.end_policy == EndPolicy::kExact, set.name == "cubic5") << set.name;
  }
}

TEST(ResolveSchedule, CyclesACustomList) {
  const std::vector<NsCoefficients> own = {{3.0, -3.2, 1.2}, {2.0, -1.5, 0.5}};
  const auto steps = resolve_schedule("custom", 3, own);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[1], own[1]);
  EXPECT_EQ(steps[2], own[0]);
}

TEST(ResolveSchedule, SaysWhatItExpectedAndGot) {
  EXPECT_EQ(refusal("quintick", 5),
            "coefficient_type: expected one of simple, quintic, polar_express, cans, aol, deepseekv4, "
            "cubic5, custom, "
            "got 'quintick', did you mean quintic?");
  EXPECT_EQ(refusal("", 5),
            "coefficient_type: expected one of simple, quintic, polar_express, cans, aol, deepseekv4, "
            "cubic5, custom, "
            "got ''");
  EXPECT_EQ(refusal("quintic", 0), "num_ns_steps: expected 1 to 10000, got 0");
  EXPECT_EQ(refusal("quintic", -3), "num_ns_steps: expected 1 to 10000, got -3");
  EXPECT_EQ(refusal("quintic", 10001), "num_ns_steps: expected 1 to 10000, got 10001");
  EXPECT_EQ(refusal("cubic5", 4), "num_ns_steps: expected exactly 5 with coefficient_type cubic5, got 4");
  EXPECT_EQ(refusal("cubic5", 6), "num_ns_steps: expected exactly 5 with coefficient_type cubic5, got 6");
  EXPECT_EQ(refusal("custom", 5),
            "coefficient_type custom: expected at least one entry of custom_coefficients, got none");
  const std::vector<NsCoefficients> own = {{2.0, -1.5, 0.5}};
  EXPECT_EQ(
      refusal("simple", 5, own),
      "coefficient_type simple: expected no custom_coefficients (they belong to type custom), got 1 entries");
  const std::vector<NsCoefficients> infinite = {{2.0, -1.5, HUGE_VAL}};
  EXPECT_EQ(refusal("custom", 5, infinite),
            "coefficient_type custom: expected finite coefficients, got (2, -1.5, inf)");
}

TEST(ScaleFactor, ComesFromTheFullShape) {
  EXPECT_EQ(scale_factor(ScaleMode::kSpectral, {26, 24}), std::sqrt(26.0F));
  EXPECT_EQ(scale_factor(ScaleMode::kSpectral, {24, 26}), std::sqrt(26.0F));
  EXPECT_EQ(scale_factor(ScaleMode::kShapeScaling, {12, 3}), 2.0F);
  EXPECT_EQ(scale_factor(ScaleMode::kShapeScaling, {3, 12}), 1.0F);
  EXPECT_EQ(scale_factor(ScaleMode::kUnitRmsNorm, {12, 3}), 2.0F);
  EXPECT_EQ(scale_factor(ScaleMode::kUnitRmsNorm, {3, 12}), 0.5F);
}

TEST(NsCost, IsTheLongSideTimesTheShortSideSquared) {
  EXPECT_EQ(ns_cost(Shape{1000, 512}), 262144000);
  EXPECT_EQ(ns_cost(Shape{512, 1000}), 262144000);
  EXPECT_EQ(ns_cost(Shape{1, 4096}), 4096);
  EXPECT_EQ(ns_cost(Shape{129280, 7168}), std::int64_t{129280} * 7168 * 7168);
}

TEST(NsFlops, CountTheProductsOfEveryStep) {
  const NsOptions gemm = options_of("quintic", 5, NsAlgorithm::kGemm);
  EXPECT_EQ(ns_flops({1024, 1024}, gemm), 32212254720);
  EXPECT_EQ(ns_flops({128, 128}, gemm), 62914560);
  EXPECT_EQ(ns_flops({10, 3}, gemm), 5 * (4 * 9 * 10 + 2 * 27));
  EXPECT_EQ(ns_flops({3, 10}, options_of("quintic", 5, NsAlgorithm::kSyrk)), 5 * (3 * 9 * 10 + 27));
  EXPECT_EQ(ns_flops({3, 10}, options_of("cubic5", 5, NsAlgorithm::kGemm)), 5 * 4 * 9 * 10);
  EXPECT_EQ(ns_flops({3, 10}, options_of("cubic5", 5, NsAlgorithm::kSyrk)), 5 * 3 * 9 * 10);
}

TEST(NsFlops, OfGramCountAProductWithXAtEitherEndOfAStretch) {
  NsOptions gram = options_of("quintic", 5, NsAlgorithm::kGram);
  // Medium: stretches of 3 and 2. m 3, M 10.
  EXPECT_EQ(ns_flops({3, 10}, gram), 6 * 9 * 10 + 14 * 27);
  EXPECT_EQ(ns_flops({10, 3}, gram), 6 * 9 * 10 + 14 * 27);
  EXPECT_EQ(ns_flops({3, 10}, options_of("cubic5", 5, NsAlgorithm::kGram)), 6 * 9 * 10 + 9 * 27);
  EXPECT_EQ(ns_flops({3, 10}, options_of("quintic", 1, NsAlgorithm::kGram)), 3 * 9 * 10 + 27);
  gram.precision = MatmulPrecision::kHighest;
  EXPECT_EQ(ns_flops({3, 10}, gram), 3 * 9 * 10 + 17 * 27);
}

TEST(NsStretches, CoverAllStepsAsEvenlyAsCanBe) {
  const auto counts = [](int steps, NsAlgorithm algorithm, MatmulPrecision precision) {
    NsOptions options = options_of("simple", steps, algorithm);
    options.precision = precision;
    std::vector<int> result;
    int next = 0;
    for (const NsStretch& stretch : ns_stretches(options)) {
      EXPECT_EQ(stretch.first, next);
      next += stretch.count;
      result.push_back(stretch.count);
    }
    EXPECT_EQ(next, steps);
    return result;
  };
  using Counts = std::vector<int>;
  using enum MatmulPrecision;
  for (const NsAlgorithm each : {NsAlgorithm::kGemm, NsAlgorithm::kSyrk})
    EXPECT_EQ(counts(3, each, kMedium), (Counts{1, 1, 1}));
  EXPECT_EQ(counts(1, NsAlgorithm::kGram, kMedium), Counts{1});
  EXPECT_EQ(counts(3, NsAlgorithm::kGram, kMedium), Counts{3});
  EXPECT_EQ(counts(4, NsAlgorithm::kGram, kMedium), (Counts{2, 2}));
  EXPECT_EQ(counts(5, NsAlgorithm::kGram, kMedium), (Counts{3, 2}));
  EXPECT_EQ(counts(5, NsAlgorithm::kGram, kHigh), (Counts{3, 2})) << "TF32 has fp16's bits";
  EXPECT_EQ(counts(10, NsAlgorithm::kGram, kMedium), (Counts{3, 3, 2, 2}));
  EXPECT_EQ(counts(5, NsAlgorithm::kGram, kHighest), Counts{5});
  EXPECT_EQ(counts(7, NsAlgorithm::kGram, kHighest), (Counts{4, 3}));
}

TEST(NsAuto, TakesWhatTakesLeastForTheShape) {
  NsOptions gpu = options_of("quintic", 5, NsAlgorithm::kAuto);
  gpu.storage = DType::kBf16;
  gpu.batching = NsBatching::kTogether;
  const auto chosen = [](const NsOptions& options, Shape shape, int batch = 1) {
    return resolved(options, {shape, batch}).algorithm;
  };
  EXPECT_EQ(chosen(gpu, {4096, 14336}), NsAlgorithm::kGram);
  EXPECT_EQ(chosen(gpu, {14336, 4096}), NsAlgorithm::kGram);
  EXPECT_EQ(chosen(gpu, {4096, 4096}), NsAlgorithm::kSyrk) << "as many operations by gram";
  EXPECT_EQ(chosen(gpu, {1024, 4096}), NsAlgorithm::kGemm) << "36 tiles";
  EXPECT_EQ(chosen(gpu, {4096, 14332}), NsAlgorithm::kGemm) << "no triangle of rows of 28664 bytes";
  EXPECT_EQ(chosen(gpu, {1024, 4096}, 2), NsAlgorithm::kGram) << "72 tiles";
  EXPECT_EQ(ns_flops({4096, 14336}, gpu),
            ns_flops({4096, 14336}, options_of("quintic", 5, NsAlgorithm::kGram)));
  EXPECT_EQ(ns_scratch_elements({{4096, 14336}, 3}, gpu),
            ns_scratch_layout(Shape{4096, 14336}, NsAlgorithm::kGram).total * 3);
  EXPECT_EQ(ns_scratch_elements({{4096, 4096}, 1}, gpu), ns_scratch_layout(Shape{4096, 4096}).total);
  EXPECT_EQ(resolved(gpu, NsSlice{{4096, 7168}, GramSide::kRows}, 1).algorithm, NsAlgorithm::kSyrk);
  EXPECT_EQ(resolved(gpu, NsSlice{{64, 7168}, GramSide::kRows}, 1).algorithm, NsAlgorithm::kGemm);
  gpu.storage = DType::kFp32;
  EXPECT_EQ(chosen(gpu, {4096, 14336}), NsAlgorithm::kGemm) << "no symmetric products in fp32";

  // BLAS multiplies two symmetric matrices in full.
  const NsOptions cpu = options_of("quintic", 5, NsAlgorithm::kAuto);
  EXPECT_EQ(chosen(cpu, {512, 2048}), NsAlgorithm::kGram);
  EXPECT_EQ(chosen(cpu, {512, 1024}), NsAlgorithm::kSyrk);
  EXPECT_EQ(chosen(cpu, {64, 64}), NsAlgorithm::kSyrk);
  EXPECT_EQ(resolved(cpu, NsSlice{{64, 512}, GramSide::kRows}, 1).algorithm, NsAlgorithm::kSyrk);
  for (const NsAlgorithm each : {NsAlgorithm::kGemm, NsAlgorithm::kSyrk, NsAlgorithm::kGram})
    EXPECT_EQ(chosen(options_of("quintic", 5, each), {64, 4096}), each);
}

TEST(NsScratch, PartsAreDisjointAlignedAndLargeEnough) {
  for (const Shape shape : {Shape{1, 1}, Shape{1, 7}, Shape{7, 1}, Shape{33, 65}, Shape{64, 64}}) {
    const NsScratchLayout layout = ns_scratch_layout(shape);
    const Elements square(shape.min_dim() * shape.min_dim());
    EXPECT_EQ(layout.x, Elements(0));
    EXPECT_GE(layout.next, layout.x + shape.elements());
    EXPECT_GE(layout.gram, layout.next + shape.elements());
    EXPECT_GE(layout.poly, layout.gram + square);
    EXPECT_GE(layout.total, layout.poly + square);
    for (const Elements offset : {layout.next, layout.gram, layout.poly, layout.total})
      EXPECT_EQ(offset.value() % 64, 0);
    EXPECT_LT(layout.total.value(), 2 * shape.elements().value() + 2 * square.value() + 4 * 64);
    const NsScratchLayout gram = ns_scratch_layout(shape, NsAlgorithm::kGram);
    EXPECT_EQ(gram.poly, layout.poly);
    EXPECT_EQ(gram.product, layout.total);
    EXPECT_GE(gram.spare, gram.product + square);
    EXPECT_GE(gram.total, gram.spare + square);
    EXPECT_EQ(gram.spare.value() % 64, 0);
    EXPECT_LT(gram.total.value(), 2 * shape.elements().value() + 4 * square.value() + 6 * 64);
  }
}

TEST(NsScratch, OfABatchIsOneMatrixsAsTheyAreDoneOneAfterTheOther) {
  const NsOptions options = options_of("quintic", 5, NsAlgorithm::kGemm);
  EXPECT_EQ(ns_scratch_elements({.matrix = {33, 65}, .batch = 3}, options),
            ns_scratch_layout(Shape{33, 65}).total);
}

}  // namespace
}  // namespace muonbench
