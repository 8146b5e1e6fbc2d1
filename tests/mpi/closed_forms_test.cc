// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// Updates that are known without running anything, in every mode on every layout of the job.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tests/mpi/mpi_world.h"
#include "tests/reference/naive_newton_schulz.h"
#include "tests/reference/naive_optimizer.h"
#include "tests/support/mode_outcome.h"
#include "tests/support/test_model.h"
#include <gtest/gtest.h>

#include "src/bench/rank_state.h"
#include "src/exec/executor.h"

namespace muonbench {
namespace {

const std::vector<std::string> kNone;
constexpr const char* kMuonModes[] = {"layer_sharded", "duplicated", "distributed", "auto"};

/// A schedule of five steps and what it makes of the singular value 1 and of all singular values in [0.05,
/// 1].
struct Schedule {
  const char* name;
  double at_one, lowest, highest;
};
constexpr Schedule kSchedules[] = {{"quintic", 0.978346, 0.9778, 1.1448},
                                   {"simple", 0.696436, 0.6818, 1.2016}};

/// Relative tolerances of the closed forms. fp32: five steps of products of rank-1 matrices round to some
/// 1e-6; 1e-3 leaves room for the table's six digits and still tells every wrong shape or layout. bf16: 8
/// significant bits, 2^-8 a rounding, some of which add up over five steps; twice as many where ranks add up
/// Gram matrices in bf16, with equal roundings of equal elements all in one direction.
double tolerance(MatmulPrecision precision, std::string_view mode) {
  if (precision != MatmulPrecision::kMedium) return 1e-3;
  return mode == "distributed" || mode == "auto" ? 6e-2 : 3e-2;
}

Parameter ones(Parameter param, double scale = 1.0) {
  param.gradient = GradientFill::kOnes;
  param.gradient_scale = scale;
  return param;
}
Parameter zeros(Parameter param) {
  param.gradient = GradientFill::kZeros;
  return param;
}

/// One step whose update is what the weights change by.
RunConfig one_plain_step(const std::vector<Parameter>& params, const Schedule& schedule,
                         MatmulPrecision precision) {
  RunConfig config = run_config(params, {1, 1});
  config.run.steps = 1;
  config.muon.lr = 1.0;
  config.muon.weight_decay = 0.0;
  config.muon.coefficient_type = schedule.name;
  config.muon.fp32_matmul_prec = precision;
  return config;
}

class ClosedForms : public testing::Test {
 protected:
  /// `check(run, mode, context)` for every Muon mode on every domain of the job.
  template <class Check>
  void everywhere(RunConfig config, Check check) {
    on_every_domain(world_, std::move(config),
                    [&](const ResolvedRun& run, DomainShape domain, RankContext& context) {
                      for (const char* mode : kMuonModes) {
                        SCOPED_TRACE(testing::Message()
                                     << mode << " on " << domain.gtp_remat << " x " << domain.tp << ", "
                                     << run.config.muon.coefficient_type << ", "
                                     << name_in(kMatmulPrecisionNames, run.config.muon.fp32_matmul_prec));
                        check(run, mode, context);
                      }
                    });
  }
  MpiWorld world_;
};

/// Weights before minus weights after.
std::vector<float> update_of(const Outcome& outcome, const ResolvedRun& run, std::size_t p) {
  const Parameter& param = run.params.params[p];
  std::vector<float> update = outcome.masters.at(p);
  for (std::size_t i = 0; i < update.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    update[i] = weight_value(run.config.gradients.seed, param, at / param.shape.cols, at % param.shape.cols) -
                update[i];
  }
  return update;
}

void expect_every_element(const std::vector<float>& update, double expected, double relative,
                          const std::string& name) {
  for (const float value : update) ASSERT_NEAR(value, expected, expected * relative) << name;
}

TEST_F(ClosedForms, AConstantGradientMovesEveryElementByTheMapOfOneOverTheRootOfTheShorterSide) {
  const std::vector<Parameter> params = {
      ones(muon("rows_cut_twice", {24, 48}, 0)), ones(muon("cols_cut", {24, 48}, 1), 1000.0),
      ones(muon("tall", {48, 24}, 0), 1e-3),     ones(muon("tall_cols_cut", {50, 24}, 1)),
      ones(muon("rows_cut", {9, 16})),           ones(muon("rows_cut_short", {5, 16})),
      ones(untagged(muon("whole", {9, 16})))};
  for (const Schedule& schedule : kSchedules) {
    for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
      RunConfig config = one_plain_step(params, schedule, precision);
      config.muon.nesterov = precision == MatmulPrecision::kHighest;
      everywhere(config, [&](const ResolvedRun& run, const char* mode, RankContext& context) {
        const Outcome outcome = run_on_all_ranks(mode, run, context);
        EXPECT_EQ(outcome.faults, kNone);
        for (std::size_t p = 0; p < params.size(); ++p) {
          const double shorter = static_cast<double>(std::min(params[p].shape.rows, params[p].shape.cols));
          expect_every_element(update_of(outcome, run, p), schedule.at_one / std::sqrt(shorter),
                               tolerance(precision, mode), params[p].name);
        }
      });
    }
  }
}

TEST_F(ClosedForms, PublishedUpdatesOfSmallShapesComeOut) {
  // 9 and 5 rows with pads over gtp_remat, aligned to one row and to sixteen.
  for (const std::int64_t alignment : {1, 16}) {
    RunConfig config =
        one_plain_step({ones(muon("w", {8, 16})), ones(muon("a", {9, 16})), ones(muon("b", {5, 16}))},
                       kSchedules[0], MatmulPrecision::kHighest);
    config.parallelism.pad_for_alignment = alignment;
    for (const int tp_dim : {0, 1}) {
      if (8 % world_.runtime.size() == 0) config.model.params->front().tp_dim = tp_dim;
      everywhere(config, [&](const ResolvedRun& run, const char* mode, RankContext& context) {
        const Outcome outcome = run_on_all_ranks(mode, run, context);
        expect_every_element(update_of(outcome, run, 0), 0.345897, 1e-3, "w");
        expect_every_element(update_of(outcome, run, 1), 0.326115, 1e-3, "a");
        expect_every_element(update_of(outcome, run, 2), 0.437529, 1e-3, "b");
      });
    }
  }
}

TEST_F(ClosedForms, VectorsAndScalarsMoveByTheMapOfOne) {
  const std::vector<Parameter> params = {ones(muon("r", {1, 7})), ones(muon("c", {7, 1})),
                                         ones(muon("s", {1, 1})), ones(muon("r2", {1, 4096})),
                                         ones(muon("c2", {4096, 1}))};
  for (const Schedule& schedule : kSchedules) {
    everywhere(one_plain_step(params, schedule, MatmulPrecision::kHighest),
               [&](const ResolvedRun& run, const char* mode, RankContext& context) {
                 // The Gram matrix of columns would be 4096 x 4096 for a single number.
                 if (std::string(mode) == "distributed") return;
                 const Outcome outcome = run_on_all_ranks(mode, run, context);
                 for (std::size_t p = 0; p < params.size(); ++p)
                   expect_every_element(update_of(outcome, run, p), schedule.at_one, 1e-3, params[p].name);
               });
  }
}

TEST_F(ClosedForms, VectorsMoveByTheMapOfOneWhereSingleRowsAreDistributed) {
  const std::vector<Parameter> params = {ones(muon("r", {1, 7})), ones(muon("c", {70, 1})),
                                         ones(muon("s", {1, 1})), ones(muon("r2", {1, 300}))};
  for (const Schedule& schedule : kSchedules) {
    for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
      everywhere(one_plain_step(params, schedule, precision),
                 [&](const ResolvedRun& run, const char* mode, RankContext& context) {
                   const Outcome outcome = run_on_all_ranks(mode, run, context);
                   for (std::size_t p = 0; p < params.size(); ++p)
                     expect_every_element(update_of(outcome, run, p), schedule.at_one,
                                          tolerance(precision, mode), params[p].name);
                 });
    }
  }
}

/// Zero weights, and the identity as every parameter's gradient.
class Identity final : public ValueSource {
 public:
  void weights(ParamIndex /*p*/, std::int64_t /*row*/, std::int64_t /*first_col*/,
               std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
  }
  void gradients(ParamIndex /*p*/, std::int64_t /*step*/, std::int64_t row, std::int64_t first_col,
                 std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = first_col + static_cast<std::int64_t>(i) == row ? 1.0F : 0.0F;
  }
};

TEST_F(ClosedForms, AnIdentityGradientScalesTheIdentity) {
  struct Row {
    std::int64_t n;
    double quintic, simple;
  };
  const std::vector<Row> table = {
      {4, 0.985869, 0.765439}, {8, 0.986131, 1.066968}, {16, 0.987218, 0.714526}, {64, 0.984272, 0.688140}};
  for (const Schedule& schedule : kSchedules) {
    const bool quintic = std::string(schedule.name) == "quintic";
    std::vector<Parameter> params;
    for (const Row& row : table) {
      const bool splits = row.n % world_.runtime.size() == 0;
      for (const std::optional<int> tp_dim : {std::optional<int>(), std::optional(0), std::optional(1)})
        if (splits || !tp_dim) params.push_back(muon(std::to_string(params.size()), {row.n, row.n}, tp_dim));
    }
    everywhere(one_plain_step(params, schedule, MatmulPrecision::kHighest), [&](const ResolvedRun& run,
                                                                                const char* mode,
                                                                                RankContext& context) {
      const Outcome outcome = run_on_all_ranks(mode, run, Identity(), context);
      for (std::size_t p = 0; p < params.size(); ++p) {
        const std::int64_t n = params[p].shape.rows;
        const auto row = std::find_if(table.begin(), table.end(), [n](const Row& r) { return r.n == n; });
        const double diagonal = (quintic ? row->quintic : row->simple) * std::sqrt(static_cast<double>(n));
        for (std::int64_t i = 0; i < n * n; ++i) {
          const double expected = i / n == i % n ? diagonal : 0.0;
          // Products of zeros are exact.
          ASSERT_NEAR(-outcome.masters[p][static_cast<std::size_t>(i)], expected, expected * 1e-3) << n;
        }
      }
    });
  }
}

TEST_F(ClosedForms, SingularValuesOfAnUpdateEndInsideTheBandOfTheSchedule) {
  const std::vector<Parameter> params = {muon("rows_cut_twice", {24, 64}, 0), muon("cols_cut", {64, 24}, 1),
                                         muon("rows_cut", {20, 60}), untagged(muon("whole", {16, 50}))};
  for (const Schedule& schedule : kSchedules) {
    for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
      // fp32: the weights' own rounding, 2^-24 of 8, on 64 elements a column. bf16: three hundredths, as
      // published for it.
      const double slack = precision == MatmulPrecision::kMedium ? 0.03 : 1e-4;
      everywhere(one_plain_step(params, schedule, precision), [&](const ResolvedRun& run, const char* mode,
                                                                  RankContext& context) {
        const Outcome outcome = run_on_all_ranks(mode, run, context);
        if (context.rank != WorldRank(0)) return;  // one rank's look is enough: all have the same outcome
        for (std::size_t p = 0; p < params.size(); ++p) {
          const Shape shape = params[p].shape;
          reference::Matrix gradient(shape.rows, shape.cols);
          for (std::int64_t r = 0; r < shape.rows; ++r)
            for (std::int64_t c = 0; c < shape.cols; ++c)
              gradient.at(r, c) = gradient_value(run.config.gradients.seed, 0, run.params.params[p], r, c);
          const std::vector<double> before = reference::singular_values(gradient);
          ASSERT_GT(before.back() / gradient.norm(), 0.05) << "the band holds from 0.05 on";
          const std::vector<double> after = reference::singular_values(
              reference::Matrix(shape.rows, shape.cols, update_of(outcome, run, p)));
          const double scale = std::sqrt(static_cast<double>(std::max(shape.rows, shape.cols)));
          EXPECT_LT(after.front() / scale, schedule.highest + slack) << params[p].name;
          EXPECT_GT(after.back() / scale, schedule.lowest - slack) << params[p].name;
        }
      });
    }
  }
}

TEST_F(ClosedForms, ZeroGradientsLeaveWeightsAsTheyAreOrDecayThemExactly) {
  for (const double decay : {0.0, 0.01}) {
    RunConfig config =
        run_config({zeros(muon("w", {8, 16})), zeros(adam("e", {8, 16})), muon("other", {16, 16})}, {1, 1});
    config.run.steps = 3;
    config.muon.lr = config.adam.lr = 0.1;
    config.muon.weight_decay = config.adam.weight_decay = decay;
    everywhere(config, [&](const ResolvedRun& run, const char* mode, RankContext& context) {
      const Outcome outcome = run_on_all_ranks(mode, run, context);
      EXPECT_EQ(outcome.nonfinite, 0);
      EXPECT_EQ(outcome.faults, kNone);
      const auto factor =
          static_cast<float>(-static_cast<double>(static_cast<float>(decay)) * static_cast<double>(0.1F));
      for (std::int64_t i = 0; i < 8 * 16; ++i) {
        const float w0 = weight_value(run.config.gradients.seed, run.params.params[0], i / 16, i % 16);
        float w = w0;
        for (int k = 0; k < 3; ++k) {
          const float part = factor * w;
          w = w + part;
        }
        ASSERT_EQ(outcome.masters[0][static_cast<std::size_t>(i)], w);
        // The recurrence itself, to a few roundings of 2^-24.
        ASSERT_NEAR(w, w0 * std::pow(1.0 - 0.1 * decay, 3), std::abs(w0) * 1e-6);
        reference::AdamElement e{
            0, weight_value(run.config.gradients.seed, run.params.params[1], i / 16, i % 16), 0, 0};
        const reference::AdamConstants constants{0.1F, 0.9F, 0.95F, 1e-8F, static_cast<float>(decay), true};
        const float e0 = e.master;
        for (int k = 1; k <= 3; ++k) e = reference::adam_step(e, constants, k);
        ASSERT_EQ(outcome.masters[1][static_cast<std::size_t>(i)], e.master);
        ASSERT_TRUE(decay > 0.0 || (w == w0 && e.master == e0));
      }
      for (const float value : update_of(outcome, run, 2)) ASSERT_TRUE(std::isfinite(value) && value != 0.0F);
    });
  }
}

TEST_F(ClosedForms, ABf16WeightIsTheFp32ResultRoundedOnce) {
  // 1 - 0.005648 * 0.345897 lies below the middle of 0.99609375 and 1; an update rounded to bf16 first
  // gives 1.
  RunConfig config = one_plain_step({muon("w", {8, 16})}, kSchedules[0], MatmulPrecision::kHighest);
  config.muon.lr = 0.005648;
  everywhere(config, [&](const ResolvedRun& run, const char* mode, RankContext& context) {
    const StepProgram program = build_program(mode_named(mode), run.inputs, context.rank);
    Executor executor(program, context.device, context.comms.table());
    RankState state(program, run.inputs, context.rank, context.device, executor);
    const std::vector<float> ones_everywhere(8 * 16, 1.0F);
    const GivenValues values(16, ones_everywhere, {ones_everywhere});
    state.initialise(values);
    state.load_gradients(values, 0);
    static_cast<void>(executor.run_step(StepContext{0}, PhaseTiming::kOff));
    for (const MasterRows& rows : state.read_weights())
      for (const float weight : rows.values) ASSERT_EQ(weight, 0.99609375F);
  });
}

}  // namespace
}  // namespace muonbench
