// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <clocale>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/report_sample.h"
#include <gtest/gtest.h>

#include "src/report/columns.h"
#include "src/report/report.h"

namespace muonbench {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kTable =
    R"(muonbench sample, "quoted": 2 ranks, gtp_remat 1 x tp 2, backend cpu over mpi, bf16 weights
model: 192 parameters, 128 for Muon in 1 matrix, 64 for Adam; NS 4.1e-06 GFLOP per step

mode           step_p50  speedup  ns_calls       ns    ns_rate   sent  coll  state  rank   peak  parity
                   (ms)      (x)     (max)  (GFLOP)  (TFLOP/s)  (MiB)        (MiB)        (MiB)
layer_sharded     500.0    2.500         1    4.096      0.500  0.500     3  10.00     1  31.00  bit-identical
adam_dim0             -        -         0        0          -      0     0      0     0      0  -
ns_calls, ns, sent, coll, state, peak: of the rank with the most, per step; rank: the first with that state
speedup: over duplicated; ns_rate: of all ranks

phase     layer_sharded
                   (ms)
momentum          62.50
ns                250.0
adam              125.0

layer_sharded
rank  g  t  weights  master  momentum   adam  exchange  ns_scratch   peak  step_p50   sent  ns_calls       ns
              (MiB)   (MiB)     (MiB)  (MiB)     (MiB)       (MiB)  (MiB)      (ms)  (MiB)            (GFLOP)
   0  0  0    1.000   2.000     3.000  4.000     7.000       8.000  31.00     375.0  0.500         0        0
   1  0  1    1.000   2.000     3.000  4.000     7.000       8.000  31.00     500.0  0.500         1    4.096

adam_dim0
rank  g  t  weights  master  momentum   adam  exchange  ns_scratch   peak  step_p50   sent  ns_calls       ns
              (MiB)   (MiB)     (MiB)  (MiB)     (MiB)       (MiB)  (MiB)      (ms)  (MiB)            (GFLOP)
   0  0  0        0       0         0      0         0           0      0         -      0         0        0
)";

TEST(Table, ShowsModesThenPhasesThenRanksWithUnitsUnderTheNames) {
  EXPECT_EQ(to_table(sample_result()), kTable);
}

/// A domain of `ranks` with sizes of a 70 B model, the peak growing with the rank.
Result large_result(int ranks) {
  Result result = sample_result();
  for (ModeInfo& mode : result.modes) {
    mode.mode = "adam_replicated";
    mode.parity = {"duplicated", false, 1.25e-7, std::nullopt};
    mode.step_seconds = TimeSummary{123.0, 123.0, 123.0, 123.0, 123.0, {123.0}};
    mode.ranks.clear();
    for (int r = 0; r < ranks; ++r) {
      RankInfo rank;
      rank.rank = r;
      rank.g = r / 8;
      rank.t = r % 8;
      const std::int64_t gib = 1LL << 30;
      rank.memory = {140 * gib, 280 * gib, 280 * gib,           99 * gib,    1, 280 * gib, 99 * gib,
                     9 * gib,   659 * gib, 900 * gib + r * gib, std::nullopt};
      rank.ns_calls = 1234;
      rank.ns_flops = 987'654'000'000'000;
      rank.collectives = 12;
      rank.sent_bytes = 280 * gib;
      rank.step_seconds_p50 = 123.456;
      mode.ranks.push_back(rank);
    }
  }
  return result;
}

TEST(Table, StaysWithin120ColumnsForALargeModelOn1024Ranks) {
  for (const std::string& line : lines_of(to_table(large_result(1024)))) EXPECT_LE(line.size(), 120U) << line;
}

TEST(Table, ShowsAllOfSixteenRanksAndTheEndsOfSeventeen) {
  const auto rows = [](int ranks) {
    const std::vector<std::string> lines = lines_of(to_table(large_result(ranks)));
    return std::count_if(lines.begin(), lines.end(),
                         [](const std::string& l) { return contains(l, "123456"); }) /
           2;
  };
  EXPECT_EQ(rows(16), 16);
  EXPECT_EQ(rows(17), 8 + 4);
  EXPECT_TRUE(contains(to_table(large_result(17)), "5 of 17 left out"));
  EXPECT_FALSE(contains(to_table(large_result(16)), "left out"));
}

TEST(Table, OfManyRanksBeginsWithTheHighestPeakAndEndsWithTheLowest) {
  const std::vector<std::string> lines = lines_of(to_table(large_result(100)));
  const auto title =
      std::find_if(lines.begin(), lines.end(), [](const auto& l) { return contains(l, "left out"); });
  ASSERT_LT(title - lines.begin(), static_cast<std::ptrdiff_t>(lines.size()) - 14);
  EXPECT_TRUE(title[3].starts_with("  99  12  3 ")) << title[3];
  EXPECT_TRUE(title[14].starts_with("   0   0  0 ")) << title[14];
}

TEST(Table, NamesTheFullestRankWhereverItIs) {
  Result result = large_result(8);
  result.modes[0].ranks[5].memory.state_bytes += 1LL << 30;
  result.modes.resize(1);
  // state (MiB), rank, peak (MiB) of the one row of the summary.
  EXPECT_TRUE(contains(to_table(result), "675840     5  928768")) << to_table(result);
}

TEST(Table, WarnsOfWhatSpoilsItsNumbers) {
  Result result = sample_result();
  EXPECT_FALSE(contains(to_table(result), "warning"));
  result.complete = false;
  result.status = "interrupted";
  result.environment->oversubscribed = true;
  result.modes[0].nonfinite_values = 7;
  result.modes[0].parity = {"duplicated", false, 0.001, std::nullopt};
  const std::string table = to_table(result);
  EXPECT_TRUE(contains(table, "INCOMPLETE: status interrupted\n"));
  EXPECT_TRUE(contains(table, "warning: oversubscribed"));
  EXPECT_TRUE(contains(table, "warning: layer_sharded: 7 non-finite values\n"));
  EXPECT_TRUE(contains(table, "max diff 1.0e-03"));
}

TEST(Table, CopesWithAResultThatHasNoModesYet) { EXPECT_TRUE(contains(to_table(Result{}), "0 ranks")); }

TEST(Table, ShowsAPhaseThatOnlyOneModeHasAsUnknownInTheOther) {
  Result result = sample_result();
  result.modes[1].phases_seconds = {{"adam", 0.5}, {"param_gather", 0.25}};
  const std::string table = to_table(result);
  EXPECT_TRUE(contains(table, "adam                  125.0      500.0\n")) << table;
  EXPECT_TRUE(contains(table, "param_gather              -      250.0\n")) << table;
  EXPECT_TRUE(contains(table, "momentum              62.50          -\n")) << table;
}

TEST(ShortNumber, KeepsFourDigitsAndNeverPrintsAWordForUnknown) {
  EXPECT_EQ(short_number(0.0), "0");
  EXPECT_EQ(short_number(1.5e-4), "1.5e-04");
  EXPECT_EQ(short_number(0.0123), "0.012");
  EXPECT_EQ(short_number(9.99951), "10.00");
  EXPECT_EQ(short_number(99.996), "100.0");
  EXPECT_EQ(short_number(1234567.4), "1234567");
  EXPECT_EQ(short_number(std::nullopt), "-");
  EXPECT_EQ(short_number(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(in_mib(3 << 19), "1.500");
}

/// Records of an RFC 4180 text; a quoted cell may hold commas, doubled quotes and line ends.
std::vector<std::vector<std::string>> records_of(const std::string& csv) {
  std::vector<std::vector<std::string>> records(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (c == '"' && quoted && i + 1 < csv.size() && csv[i + 1] == '"') {
      records.back().back() += csv[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      records.back().emplace_back();
    } else if (!quoted && c == '\r' && i + 1 < csv.size() && csv[i + 1] == '\n') {
      records.push_back({""});
      ++i;
    } else {
      records.back().back() += c;
    }
  }
  records.pop_back();
  return records;
}

std::string cell_of(const std::vector<std::vector<std::string>>& records, std::size_t row,
                    const std::string& name) {
  const auto column = std::find(records[0].begin(), records[0].end(), name) - records[0].begin();
  return records.at(row).at(static_cast<std::size_t>(column));
}

TEST(Csv, HasOneHeaderAndARowPerModeAndRankOfEqualWidth) {
  const auto records = records_of(to_csv(sample_result()));
  ASSERT_EQ(records.size(), 1U + 2U + 1U);
  for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
  EXPECT_EQ(cell_of(records, 2, "mode"), "layer_sharded");
  EXPECT_EQ(cell_of(records, 2, "rank"), "1");
  EXPECT_EQ(cell_of(records, 2, "state_bytes"), "10485760");
  EXPECT_EQ(cell_of(records, 1, "bit_identical"), "true");
  EXPECT_EQ(cell_of(records, 3, "mode"), "adam_dim0");
}

TEST(Csv, KeepsItsColumnsInTheirPlaces) {
  const std::string header = lines_of(to_csv(sample_result()))[0];
  EXPECT_EQ(
      header,
      "schema_version,name,complete,status,time,backend,param_dtype,tp,gtp_remat,ranks,oversubscribed,mode,"
      "rank,"
      "host,g,t,weights_bytes,master_bytes,momentum_bytes,adam_bytes,pad_bytes,gradient_bytes,exchange_bytes,"
      "ns_scratch_bytes,state_bytes,peak_bytes,process_peak_bytes,ns_calls,ns_flops,collectives,sent_bytes,"
      "received_bytes,rank_step_seconds_p50,step_seconds_min,step_seconds_p50,step_seconds_p95,step_seconds_"
      "max,"
      "step_seconds_mean,step_samples,first_step_seconds,ns_tflops,parameters_per_second,exchange_algbw_gbs,"
      "exchange_busbw_gbs,speedup_vs_duplicated,ns_cost_max_over_mean,state_max_over_mean,bit_identical,"
      "max_abs_diff,nonfinite_values\r");
}

TEST(Csv, LeavesTheUnknownEmptyAndTheZeroZero) {
  Result result = sample_result();
  result.modes[0].parity.max_abs_diff = std::numeric_limits<double>::quiet_NaN();
  const auto records = records_of(to_csv(result));
  EXPECT_EQ(cell_of(records, 3, "step_seconds_p50"), "");
  EXPECT_EQ(cell_of(records, 3, "nonfinite_values"), "");
  EXPECT_EQ(cell_of(records, 1, "nonfinite_values"), "0");
  EXPECT_EQ(cell_of(records, 1, "max_abs_diff"), "");
}

TEST(Csv, QuotesWhatHoldsACommaAQuoteOrALineEnd) {
  Result result = sample_result();
  result.config_json = R"({"name": "a,\"b\"\r\nc\u00e9"})";
  const auto records = records_of(to_csv(result));
  EXPECT_EQ(records.size(), 4U);
  EXPECT_EQ(cell_of(records, 1, "name"), "a,\"b\"\r\nc\xc3\xa9");
}

TEST(Csv, ReadsBackEveryNumberToTheLastBit) {
  Result result = sample_result();
  result.modes[0].first_step_seconds = 1.0 / 3.0;
  EXPECT_EQ(std::stod(cell_of(records_of(to_csv(result)), 1, "first_step_seconds")), 1.0 / 3.0);
}

TEST(Reports, DoNotFollowALocaleWithADecimalComma) {
  const std::string before = to_table(sample_result()) + to_csv(sample_result()) + to_json(sample_result());
  const char* chosen = nullptr;
  for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nb_NO.UTF-8"})
    if (chosen == nullptr) chosen = std::setlocale(LC_ALL, name);
  if (chosen == nullptr) GTEST_SKIP() << "no locale with a decimal comma is installed";
  EXPECT_EQ(to_table(sample_result()) + to_csv(sample_result()) + to_json(sample_result()), before);
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace muonbench
