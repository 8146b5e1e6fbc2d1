// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/check.h"
#include "src/base/dtype.h"
#include "src/base/hash.h"
#include "src/base/log.h"
#include "src/base/optimizer_rules.h"
#include "src/base/shape.h"
#include "src/base/strong.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

template <class A, class B>
constexpr bool kMix =
    std::is_convertible_v<A, B> || std::is_constructible_v<B, A> || std::is_assignable_v<B&, A>;

// What the types exist to forbid.
static_assert(!kMix<GtpRank, TpRank> && !kMix<TpRank, GtpRank>);
static_assert(!kMix<WorldRank, GroupRank> && !kMix<GroupRank, WorldRank>);
static_assert(!kMix<Elements, Bytes> && !kMix<Bytes, Elements>);
static_assert(!kMix<WorldRank, ParamIndex> && !kMix<ParamIndex, WorldRank>);
static_assert(!std::is_convertible_v<int, WorldRank> && !std::is_convertible_v<WorldRank, int>);
static_assert(!std::is_convertible_v<int, Elements> && !std::is_convertible_v<Elements, std::int64_t>);
static_assert(!std::is_convertible_v<int, ParamIndex> && !std::is_convertible_v<ParamIndex, int>);

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
static_assert(Addable<Bytes, Bytes> && !Addable<Bytes, Elements> && !Addable<Bytes, int>);
static_assert(Comparable<TpRank, TpRank> && !Comparable<TpRank, GtpRank> && !Comparable<TpRank, int>);

TEST(Count, KeepsSixtyFourBits) {
  const Elements wide = Shape{std::int64_t{1} << 20, std::int64_t{1} << 20}.elements();
  EXPECT_EQ(wide.value(), std::int64_t{1} << 40);
  EXPECT_EQ(bytes_of(wide, DType::kFp32), Bytes(std::int64_t{1} << 42));
  EXPECT_EQ(bytes_of(wide, DType::kBf16), Bytes(std::int64_t{1} << 41));
}

TEST(Count, AddsSubtractsAndScalesInItsUnit) {
  Bytes sum(5);
  sum += Bytes(7);
  sum -= Bytes(2);
  EXPECT_EQ(sum, Bytes(10));
  EXPECT_EQ(sum * 3, 3 * sum);
  EXPECT_LT(Bytes(9), sum);
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// By search among the two neighbours in double arithmetic: shares nothing with the code under test.
float nearest_bf16(float value) {
  const std::uint32_t toward_zero = bits_of(value) & 0xffff0000U;
  const auto below = std::bit_cast<float>(toward_zero);
  const auto above = std::bit_cast<float>(toward_zero + 0x10000U);
  // Beyond the largest bf16 the next step of the same size counts as infinity.
  const double wide_above = std::isinf(above) ? std::copysign(std::ldexp(1.0, 128), below) : above;
  const double down = std::abs(static_cast<double>(value) - below);
  const double up = std::abs(wide_above - value);
  if (down != up) return down < up ? below : above;
  return ((toward_zero >> 16U) & 1U) == 0 ? below : above;
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(bits_of(round_to_bf16(std::bit_cast<float>(0x3f808000U))), 0x3f800000U);  // tie, even below
  EXPECT_EQ(bits_of(round_to_bf16(std::bit_cast<float>(0x3f818000U))), 0x3f820000U);  // tie, even above
  EXPECT_EQ(bits_of(round_to_bf16(std::bit_cast<float>(0x3f808001U))), 0x3f810000U);
  EXPECT_EQ(bits_of(round_to_bf16(std::bit_cast<float>(0x3f807fffU))), 0x3f800000U);
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(bits_of(round_to_bf16(value)), bits_of(nearest_bf16(value))) << value;
  }
}

/// By its definition, in double: 11 bits, multiples of 2^-24 at least, ties to even.
float nearest_fp16(float value) {
  if (!std::isfinite(value) || value == 0.0F) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double step = std::ldexp(1.0, std::max(exponent - 11, -24));
  const double rounded = std::nearbyint(double{value} / step) * step;
  return std::fabs(rounded) > 65504.0 ? std::copysign(HUGE_VALF, value) : static_cast<float>(rounded);
}

TEST(Fp16, RoundsToTheNearestAndTiesToEven) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    bits = bits * 1664525U + 1013904223U;
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bits_of(round_to_fp16(value)), bits_of(nearest_fp16(value))) << value;
  }
  // Every number, what is halfway to the next, and its neighbours; from the subnormal ones to infinity.
  for (double number = 0.0; number <= 65504.0;
       number += std::ldexp(1.0, number < 0x1p-14 ? -24 : std::ilogb(number) - 10)) {
    const double step = std::ldexp(1.0, number < 0x1p-14 ? -24 : std::ilogb(number) - 10);
    const auto exact = static_cast<float>(number), half = static_cast<float>(number + step / 2);
    ASSERT_EQ(round_to_fp16(exact), exact);
    for (const float value : {half, std::nextafter(half, 0.0F), std::nextafter(half, HUGE_VALF), -half})
      ASSERT_EQ(bits_of(round_to_fp16(value)), bits_of(nearest_fp16(value))) << value;
  }
  EXPECT_EQ(bits_of(round_to_fp16(-0.0F)), 0x80000000U);
  EXPECT_EQ(round_to_fp16(65519.0F), 65504.0F);
  EXPECT_EQ(round_to_fp16(65520.0F), HUGE_VALF);
  EXPECT_EQ(round_to_fp16(-HUGE_VALF), -HUGE_VALF);
  EXPECT_TRUE(std::isnan(round_to_fp16(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Bf16, OverflowsToInfinityPastHalfAStepAboveTheLargest) {
  const auto largest = std::bit_cast<float>(0x7f7f0000U);
  EXPECT_EQ(round_to_bf16(largest), largest);
  EXPECT_EQ(round_to_bf16(std::bit_cast<float>(0x7f7f7fffU)), largest);
  EXPECT_TRUE(std::isinf(round_to_bf16(std::bit_cast<float>(0x7f7f8000U))));
  EXPECT_TRUE(std::isinf(round_to_bf16(std::numeric_limits<float>::max())));
}

TEST(Bf16, KeepsInfinityAndSignedZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(round_to_bf16(infinity), infinity);
  EXPECT_EQ(round_to_bf16(-infinity), -infinity);
  EXPECT_EQ(bits_of(round_to_bf16(-0.0F)), 0x80000000U);
}

TEST(Bf16, KeepsEachNanANan) {
  // Payloads in the lower half alone would round to infinity, all-ones would carry into the sign.
  for (const std::uint32_t nan : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffffffffU}) {
    const float rounded = round_to_bf16(std::bit_cast<float>(nan));
    EXPECT_TRUE(std::isnan(rounded)) << std::hex << nan;
    EXPECT_EQ(bits_of(rounded) >> 31U, nan >> 31U);
  }
}

TEST(Bf16, EveryValueSurvivesTheWayThroughFp32) {
  for (std::uint32_t i = 0; i < 0x10000U; ++i) {
    const auto value = static_cast<std::uint16_t>(i);
    if (std::isnan(fp32_from_bf16(value))) continue;
    ASSERT_EQ(bf16_from_fp32(fp32_from_bf16(value)), value);
  }
}

TEST(Mix, EqualsSplitMix64) {
  // First outputs of the published generator seeded with 0 and with 1234567.
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix(0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(mix(1234567), 6457827717110365317ULL);
}

TEST(Mix, OfTwoDependsOnTheirOrder) {
  EXPECT_NE(mix(1, 2), mix(2, 1));
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 64; ++a) {
    for (std::uint64_t b = 0; b < 64; ++b) seen.insert(mix(a, b));
  }
  EXPECT_EQ(seen.size(), 64U * 64U);
}

std::uint64_t fingerprint_of(const std::vector<std::string>& words) {
  Fingerprint fingerprint;
  for (const std::string& word : words) fingerprint.add(std::string_view(word));
  return fingerprint.value();
}

TEST(FingerprintOfWords, TellsOrderBordersAndEmptiness) {
  EXPECT_EQ(fingerprint_of({"ab", "c"}), fingerprint_of({"ab", "c"}));
  EXPECT_NE(fingerprint_of({"ab", "c"}), fingerprint_of({"a", "bc"}));
  EXPECT_NE(fingerprint_of({"ab", "c"}), fingerprint_of({"c", "ab"}));
  EXPECT_NE(fingerprint_of({"ab"}), fingerprint_of({"ab", ""}));
  EXPECT_NE(fingerprint_of({}), fingerprint_of({""}));
}

TEST(FingerprintOfNumbers, DoesNotDependOnTheirWidth) {
  EXPECT_EQ(Fingerprint().add(-3).value(), Fingerprint().add(std::int64_t{-3}).value());
  EXPECT_NE(Fingerprint().add(0).value(), Fingerprint().value());
}

TEST(Text, FormatsLikeFmtInAnyLocale) {
  EXPECT_EQ(text("{} of {:.3f} in {{}}", 3, 2.5), "3 of 2.500 in {}");
  EXPECT_EQ(text("{}", 1e300), "1e+300");
  EXPECT_EQ(text("{}", 0.1F), "0.1");
}

TEST(Join, PutsTheSeparatorBetweenAndTheQuotesAround) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b", "a"}), "a, b, a");
  EXPECT_EQ(join({"a", "", "c"}, "|", Quote::kSingle), "'a'|''|'c'");
}

TEST(NearestName, FindsTheMisspeltOne) {
  const std::vector<std::string> keys = {"hidden", "ffn_hidden", "layers", "tp", "gtp_remat"};
  EXPECT_EQ(nearest_name("ffn_hiden", keys), "ffn_hidden");
  EXPECT_EQ(nearest_name("hidden_ffn", {"hidden_ffm"}), "hidden_ffm");
  EXPECT_EQ(nearest_name("FFN_Hidden", keys), "ffn_hidden");
  EXPECT_EQ(nearest_name("lyaers", keys), "layers");
  EXPECT_EQ(nearest_name("pt", keys), "tp");
  EXPECT_EQ(nearest_name("gtpremat", keys), "gtp_remat");
}

TEST(NearestName, PrefersAPluralAndANameWhoseFirstPartIsGivenToAnotherByOneLetter) {
  const std::vector<std::string> keys = {"model", "modes", "tp", "gtp_remat", "expert_gtp_remat"};
  EXPECT_EQ(nearest_name("mode", keys), "modes");
  EXPECT_EQ(nearest_name("models", keys), "model");
  EXPECT_EQ(nearest_name("gtp", keys), "gtp_remat");
  EXPECT_EQ(nearest_name("gpt", keys), "gtp_remat");
  EXPECT_EQ(nearest_name("expert", keys), "expert_gtp_remat");
  EXPECT_EQ(nearest_name("tp", keys), "tp");
  EXPECT_EQ(nearest_name("home", {"home_policy", "homes"}), "homes");
  EXPECT_EQ(nearest_name("llama3", {"llama2-7b", "llama3-8b"}), "llama3-8b");
}

TEST(NearestName, IsEmptyIfNothingIsNear) {
  const std::vector<std::string> keys = {"hidden", "ffn_hidden", "layers", "tp"};
  EXPECT_EQ(nearest_name("momentum", keys), "");
  EXPECT_EQ(nearest_name("ep_x", keys), "");
  EXPECT_EQ(nearest_name("anything", {}), "");
  EXPECT_EQ(nearest_name("", keys), "");
}

TEST(NearestName, CountsSwappedNeighboursOnce) {
  // Two substitutions would be two errors, too many for four letters.
  EXPECT_EQ(nearest_name("seed", {"esed"}), "esed");
  EXPECT_EQ(nearest_name("seed", {"saad"}), "");
}

TEST(NearestName, TakesTheNearerAndThenTheFirst) {
  EXPECT_EQ(nearest_name("layer_wise", {"layer_sharded", "layer_wine", "layer_wises_"}), "layer_wine");
  EXPECT_EQ(nearest_name("lr", {"la", "lb"}), "la");
}

TEST(NearestName, AnswersAtOnceForAWordOfMegabytes) {
  EXPECT_EQ(nearest_name(std::string(std::size_t{1} << 24U, 'a'), {"aaaa"}), "");
}

TEST(Check, NamesExpressionPlaceAndValues) {
  const int got = 3;
  try {
    MUONBENCH_CHECK(got == 4, "got {} for '{}'", got, "w.0");
    FAIL() << "the check passed";
  } catch (const RuntimeFailure& failure) {
    const std::string message = failure.what();
    EXPECT_NE(message.find("got == 4"), std::string::npos) << message;
    EXPECT_NE(message.find("base_test.cc:"), std::string::npos) << message;
    EXPECT_NE(message.find("got 3 for 'w.0'"), std::string::npos) << message;
    EXPECT_EQ(failure.code(), ExitCode::kRuntime);
  }
  EXPECT_NO_THROW(MUONBENCH_CHECK(got == 3, "unused"));
}

TEST(Log, HeadsEachLineWithLabelAndLevelAndKeepsBraces) {
  testing::internal::CaptureStderr();
  init_log("rank 1,0", LogLevel::kInfo);
  log_debug("unseen");
  log_info("{not a format} {}");
  log_error("first\nsecond");
  const std::string seen = testing::internal::GetCapturedStderr();
  EXPECT_EQ(seen.find("unseen"), std::string::npos);
  EXPECT_NE(seen.find("] [rank 1,0] info: {not a format} {}\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("] [rank 1,0] error: first\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("] [rank 1,0] error: second\n"), std::string::npos) << seen;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), '\n'), 3);
}

TEST(MomentumRule, DecaysAsItsMethodSays) {
  MomentumRule rule{.lr = 0.5F, .momentum = 0.9F, .weight_decay = 0.25F};
  EXPECT_EQ(rule.decay_factor(), -0.125F);
  rule.weight_decay_method = WeightDecayMethod::kIndependent;
  EXPECT_EQ(rule.decay_factor(), -0.25F);
  rule.weight_decay_method = WeightDecayMethod::kPalm;
  EXPECT_EQ(rule.decay_factor(), -0.0625F);
  EXPECT_EQ(rule.l2_factor(), 0.0F);
  rule.weight_decay_method = WeightDecayMethod::kL2;
  EXPECT_EQ(rule.decay_factor(), 0.0F);
  EXPECT_EQ(rule.l2_factor(), 0.25F);
}

}  // namespace
}  // namespace muonbench
