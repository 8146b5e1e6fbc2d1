// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Which weights are too large for their share, how their NS is spread, and what that costs each rank.
#include "src/plan/oversized.h"

#include <string>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/plan/distribution.h"

namespace muonbench {
namespace {

using Homes = std::vector<std::optional<Home>>;

NsOptions five_steps() {
  NsOptions options;
  options.steps.assign(5, {3.4445, -4.7750, 2.0315});
  return options;
}

std::vector<HomeCandidate> candidates(const std::vector<Parameter>& params, DomainShape domain) {
  std::vector<HomeCandidate> found;
  for (const Parameter& param : params)
    found.push_back({param.name, ParamShardSpec::from_param(param, domain, 1), RowSplit(param.qkv_split)});
  return found;
}

Homes split(const std::vector<Parameter>& params, DomainShape domain,
            GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn) {
  return spread_oversized(
      candidates(params, domain), domain, five_steps(),
      [&](const std::vector<HomeCandidate>& some) { return lpt_homes(some, domain, gtp_only); });
}

/// "g,t" of a rank, "g,*" of a column, with + if NS is spread over it, "all" if over the domain.
std::vector<std::string> said(const Homes& homes) {
  std::vector<std::string> words;
  for (const auto& home : homes) {
    if (!home) {
      words.emplace_back("-");
    } else if (home->spread == NsSpread::kDomain) {
      words.emplace_back("all");
    } else {
      words.push_back(std::to_string(home->g.value()) + "," +
                      (home->t ? std::to_string(home->t->value()) : "*") +
                      (home->spread == NsSpread::kColumn ? "+" : ""));
    }
  }
  return words;
}
using Words = std::vector<std::string>;

TEST(SplitOversized, LeavesHomesAsTheyAreWhereNoWeightIsTooLarge) {
  const DomainShape domain{2, 2};
  const std::vector<Parameter> params(9, muon("w", {64, 32}, 0));
  EXPECT_EQ(split(params, domain), lpt_homes(candidates(params, domain), domain));
  EXPECT_EQ(split({}, domain), Homes{});
  EXPECT_EQ(split({muon("one", {64, 64})}, {1, 1}), Homes{std::nullopt});
}

TEST(SplitOversized, SpreadsOverTheDomainAWeightThatOneAxisSplits) {
  // 4 * 256^2 * 1024 + 2 * 256^3 FLOPs a step whole, 4 * 256^2 * 1024 / 4 + 2 * 256^3 spread over 4 ranks.
  const std::vector<Parameter> params = {muon("big", {1024, 256}), muon("a", {64, 64}), muon("b", {64, 64})};
  EXPECT_EQ(said(split(params, {4, 1})), (Words{"all", "0,0", "1,0"}));
  const std::vector<Parameter> over_tp = {muon("big", {1024, 256}, 0), muon("a", {64, 64}, 1)};
  EXPECT_EQ(said(split(over_tp, {1, 4})), (Words{"all", "0,0"}));
}

TEST(SplitOversized, SpreadsOverAColumnWhatTpSplitsTooAndLeavesTheOtherColumnsToTheRest) {
  const std::vector<Parameter> params = {muon("big", {1024, 256}, 0), muon("mid", {512, 256}, 0),
                                         muon("a", {64, 64}, 0)};
  EXPECT_EQ(said(split(params, {2, 4})), (Words{"0,*+", "1,*+", "1,0"}));
  // Along columns its Gram matrices are of the long side then: the domain adds up those of the short one.
  const std::vector<Parameter> along = {muon("big", {1024, 256}, 1), muon("a", {64, 64}, 0)};
  EXPECT_EQ(said(split(along, {4, 2})), (Words{"all", "0,0"}));
}

TEST(SplitOversized, SplitsEqualOnesTogetherThoughOneAloneWouldShortenNothing) {
  const std::vector<Parameter> params = {muon("a", {1024, 256}), muon("b", {1024, 256}), muon("c", {32, 32})};
  EXPECT_EQ(said(split(params, {8, 1})), (Words{"all", "all", "0,0"}));
}

TEST(SplitOversized, SplitsNothingThatLastsAsLongSpread) {
  // Split along columns, its Gram matrix is of the long side: 4 * 512^2 * 64 / 2 + 2 * 512^3 to
  // 4 * 64^2 * 512 + 2 * 64^3 FLOPs.
  EXPECT_EQ(said(split({muon("w", {512, 64}, 1)}, {1, 2})), (Words{"0,0"}));
  // Nor a weight that every rank has whole.
  EXPECT_EQ(said(split({untagged(muon("w", {512, 64})), muon("v", {8, 8}), muon("u", {8, 8})}, {2, 1})),
            (Words{"-", "0,0", "1,0"}));
}

TEST(SplitOversized, CountsTheMatricesThatNsRunsOn) {
  // Whole it has 5 / 9 of all FLOPs, apart less than the others: 16 pieces are as cheap as they are small.
  const std::vector<Parameter> others = {muon("a", {512, 256}), muon("b", {512, 256})};
  const Parameter weight = muon("w", {1024, 256}), apart = fused(weight, std::vector<std::int64_t>(16, 64));
  EXPECT_EQ(said(split({weight, others[0], others[1]}, {2, 1})), (Words{"0,0", "1,0", "1,0"}));
  EXPECT_EQ(said(split({weight, others[0], others[1]}, {4, 1})).front(), "all");
  EXPECT_EQ(said(split({apart, others[0], others[1]}, {4, 1})).front(), "2,0");
}

TEST(SplitOversized, ItsSharesAreTheFlopsThatStepsAreCountedWith) {
  // Rows and columns that both axes divide, so that all ranks have as much: what is planned is what is
  // emitted.
  const std::vector<Parameter> params = {muon("big", {1024, 256}, 0), muon("long", {256, 2048}, 1),
                                         muon("a", {64, 64}, 0), muon("b", {128, 64})};
  for (const DomainShape domain :
       {DomainShape{2, 2}, DomainShape{4, 2}, DomainShape{2, 4}, DomainShape{8, 1}}) {
    const HomeRule rule = [](const std::vector<HomeCandidate>& some, DomainShape shape) {
      return spread_oversized(some, shape, five_steps(),
                              [&](const std::vector<HomeCandidate>& list) { return lpt_homes(list, shape); });
    };
    const TestModel model(params, domain_grid(domain.gtp_remat, domain.tp),
                          {.pad_for_alignment = 1, .homes = rule});
    const double whole_most = ns_shares(candidates(params, domain),
                                        lpt_homes(candidates(params, domain), domain), domain, five_steps())
                                  .fullest;
    double most = 0.0, total = 0.0;
    for (const StepCounts& counts : model.counts("layer_sharded")) {
      most = std::max(most, static_cast<double>(counts.ns_flops));
      total += static_cast<double>(counts.ns_flops);
    }
    const NsShares shares = ns_shares(candidates(params, domain), model.inputs().homes, domain, five_steps());
    EXPECT_DOUBLE_EQ(shares.fullest, most) << domain.gtp_remat;
    EXPECT_DOUBLE_EQ(shares.mean, total / domain.size()) << domain.gtp_remat;
    EXPECT_EQ(most<whole_most, domain.tp> 1) << domain.gtp_remat;
  }
}

TEST(SplitOversized, CountsTheRowsThatEachRankHas) {
  // Aligned to 128 rows, 160 of them are on two of eight ranks: spread, the first would have 128 of each.
  const std::vector<Parameter> params(3, muon("w", {160, 64}));
  std::vector<HomeCandidate> some;
  for (const Parameter& param : params)
    some.push_back({param.name, ParamShardSpec::from_param(param, {8, 1}, 128)});
  const auto lpt = [](const std::vector<HomeCandidate>& list) { return lpt_homes(list, {8, 1}); };
  EXPECT_EQ(spread_oversized(some, {8, 1}, five_steps(), lpt), lpt(some));
}

TEST(SplitOversized, SpreadsTwoGiantsAsOne) {
  // Over gtp_remat a rank has 1 / 64 of each and the squares; over a column's two ranks it would have half of
  // one.
  const std::vector<Parameter> one = {muon("a", {8192, 64}, 0)}, two = {one[0], muon("b", {8192, 64}, 0)};
  EXPECT_EQ(said(split(one, {64, 2})), Words{"all"});
  EXPECT_EQ(said(split(two, {64, 2})), (Words{"all", "all"}));
}

TEST(SplitOversized, AShardOfAWeightSpreadOverAColumnTravelsToItsColumnAlone) {
  const std::vector<Parameter> params = {muon("big", {64, 32}, 0)};
  const HomeRule column = [](const std::vector<HomeCandidate>&, DomainShape) {
    return Homes{Home{GtpRank(1), std::nullopt, NsSpread::kColumn}};
  };
  for (const ExchangeWay exchange : {ExchangeWay::kTwoStage, ExchangeWay::kFused}) {
    const TestModel model(params, domain_grid(4, 2),
                          {.pad_for_alignment = 1, .homes = column, .exchange = exchange});
    const auto counts = model.counts("layer_sharded");
    const std::int64_t shard = 4 * 64 * 32 / 8;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      const bool at_home = r / 2 == 1;  // world rank = 2 g + t
      EXPECT_EQ(counts[r].exchange_wire.value(), at_home ? 3 * shard : shard) << r;
      EXPECT_EQ(counts[r].ns_calls, at_home ? 1 : 0) << r;
    }
  }
}

}  // namespace
}  // namespace muonbench
