// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/stats.h"

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/bench/environment.h"

namespace muonbench {
namespace {

// Interpolation multiplies and adds once per figure: what a reader recomputes in double differs by rounding
// alone.
constexpr double kRounding = 1e-15;

TEST(Summary, InterpolatesBetweenOrderStatisticsAsTypeSevenDoes) {
  // Sorted 1 2 3 4 10: p95 lies at position 0.95 * 4 = 3.8, so 4 + 0.8 * (10 - 4).
  const auto summary = summarise({10, 2, 4, 1, 3});
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->min, 1.0);
  EXPECT_EQ(summary->p50, 3.0);
  EXPECT_NEAR(summary->p95, 8.8, 10 * kRounding);
  EXPECT_EQ(summary->max, 10.0);
  EXPECT_EQ(summary->mean, 4.0);
}

TEST(Summary, TakesTheMiddleOfTwoSamplesAsTheirMedian) {
  const auto summary = summarise({0.5, 0.25});
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->p50, 0.375);
  EXPECT_NEAR(summary->p95, 0.25 + 0.95 * 0.25, kRounding);
}

TEST(Summary, KeepsTheSamplesInTheOrderOfTheSteps) {
  const std::vector<double> samples = {3, 1, 2};
  EXPECT_EQ(summarise(samples)->samples, samples);
}

TEST(Summary, OfOneSampleIsThatSampleFiveTimes) {
  const auto summary = summarise({0.125});
  ASSERT_TRUE(summary.has_value());
  for (const double figure : {summary->min, summary->p50, summary->p95, summary->max, summary->mean})
    EXPECT_EQ(figure, 0.125);
}

TEST(Summary, OfNoSamplesIsUnknownAndNotZero) {
  EXPECT_FALSE(summarise({}).has_value());
  EXPECT_FALSE(median({}).has_value());
}

TEST(Summary, OneSlowStepMovesTheMaximumAndNotTheMedian) {
  EXPECT_EQ(*median({100, 101, 99, 140, 100}), 100.0);
  EXPECT_EQ(*median({100, 99, 101, 100, 100}), 100.0);
}

TEST(Quantile, RefusesAShareOutsideZeroToOneAndAnEmptyList) {
  EXPECT_THROW((void)quantile_of_sorted({1.0}, 1.5), RuntimeFailure);
  EXPECT_THROW((void)quantile_of_sorted({1.0}, -0.1), RuntimeFailure);
  EXPECT_THROW((void)quantile_of_sorted({}, 0.5), RuntimeFailure);
}

TEST(MaxOverMean, IsOneForEqualRanksAndTheNumberOfRanksWhenOneDoesAll) {
  EXPECT_EQ(*max_over_mean({7, 7, 7, 7}), 1.0);
  EXPECT_EQ(*max_over_mean({0, 0, 8, 0}), 4.0);
}

TEST(MaxOverMean, IsUnknownWhereThereIsNothingToBalance) {
  EXPECT_FALSE(max_over_mean({}).has_value());
  EXPECT_FALSE(max_over_mean({0, 0}).has_value());
}

TEST(Environment, ReadsThePeakResidentSizeInKibibytes) {
  EXPECT_EQ(peak_bytes_in_status("Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 1 kB\n"),
            1234 * 1024);
  EXPECT_FALSE(peak_bytes_in_status("VmPeak:\t 1234 kB\n").has_value());
  EXPECT_FALSE(peak_bytes_in_status("VmHWM:\t many kB\n").has_value());
}

TEST(Environment, ReadsWhatIsAvailableAndWhatAControlGroupLeaves) {
  EXPECT_EQ(available_bytes_in_meminfo("MemFree: 1 kB\nMemAvailable:    1234 kB\n"), 1234 * 1024);
  EXPECT_FALSE(available_bytes_in_meminfo("MemFree: 1 kB\n").has_value());
  EXPECT_EQ(bytes_left_in_cgroup("1000\n", "700\n", "anon 1\ninactive_file 200\nactive_file 5\n"), 500);
  EXPECT_EQ(bytes_left_in_cgroup("1000\n", "700\n", ""), 300);
  EXPECT_EQ(bytes_left_in_cgroup("1000\n", "1100\n", ""), 0);
  EXPECT_FALSE(bytes_left_in_cgroup("max\n", "700\n", "").has_value());
  EXPECT_FALSE(bytes_left_in_cgroup("", "", "").has_value());
}

TEST(Environment, ReadsAQuotaAsCoresAndNoQuotaAsUnknown) {
  EXPECT_EQ(cores_in_cpu_max("150000 100000\n"), 1.5);
  EXPECT_FALSE(cores_in_cpu_max("max 100000\n").has_value());
  EXPECT_FALSE(cores_in_cpu_max("").has_value());
  EXPECT_FALSE(cores_in_cpu_max("100000 0\n").has_value());
}

TEST(Environment, FindsTheControlGroupOfVersionTwo) {
  EXPECT_EQ(cgroup_path("12:cpu,cpuacct:/old\n0::/user.slice/job\n"), "/user.slice/job");
  EXPECT_EQ(cgroup_path("0::/\n"), "/");
  EXPECT_EQ(cgroup_path("12:cpu:/old\n"), "");
}

TEST(Environment, HasAtLeastOneCoreAHostAndSomeMemory) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_FALSE(host_name().empty());
  ASSERT_TRUE(available_memory_bytes().has_value());
  EXPECT_GT(*available_memory_bytes(), 0);
  ASSERT_TRUE(usable_memory_bytes().has_value());
  EXPECT_GT(*usable_memory_bytes(), 0);
}

TEST(Environment, TellsTheTimeInIso8601AndUtc) {
  const std::regex iso(R"(\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ)");
  EXPECT_TRUE(std::regex_match(utc_time_now(), iso)) << utc_time_now();
}

TEST(Environment, ReturnsOnlyTheVariablesThatWereNamed) {
  ASSERT_EQ(setenv("MUONBENCH_TEST_SET", "7", 1), 0);
  ASSERT_EQ(unsetenv("MUONBENCH_TEST_UNSET"), 0);
  const auto values = environment_variables({"MUONBENCH_TEST_SET", "MUONBENCH_TEST_UNSET"});
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values.at("MUONBENCH_TEST_SET"), "7");
  EXPECT_FALSE(values.at("MUONBENCH_TEST_UNSET").has_value());
}

TEST(Environment, PeakCoversWhatWasTouchedAndForgetsItAfterAReset) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps freed memory in quarantine, so the resident size does not fall";
#endif
  constexpr std::size_t kSize = 64U << 20U;
  {
    std::vector<char> touched(kSize, 1);
    ASSERT_EQ(touched[kSize / 2], 1);
    ASSERT_TRUE(process_peak_bytes().has_value());
    EXPECT_GE(*process_peak_bytes(), static_cast<std::int64_t>(kSize));
  }
  const std::int64_t before = *process_peak_bytes();
  if (reset_process_peak() == PeakReset::kUnavailable) GTEST_SKIP() << "this kernel refuses the reset";
  // The 64 MiB block is above malloc's mmap threshold, so freeing it unmapped it; half of it is a safe
  // margin.
  EXPECT_LT(*process_peak_bytes(), before - static_cast<std::int64_t>(kSize / 2));
}

}  // namespace
}  // namespace muonbench
