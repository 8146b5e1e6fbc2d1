// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/golden.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "src/base/check.h"
#include "src/bench/rank_state.h"
#include "src/bench/resolve.h"
#include "src/bench/wire.h"
#include "src/exec/executor.h"
#include "src/ns/schedule.h"

namespace muonbench {
namespace {

constexpr std::int64_t kPadForAlignment = 16;

/// A piece as it travels to rank 0: its place, then its values.
struct PieceHead {
  Range rows, cols;
};

std::string pack_piece(const MasterRows& piece) {
  return pack(std::vector{PieceHead{piece.rows, piece.cols}}) + pack(piece.values);
}

/// The full matrix on rank 0, from every rank's rows of the one parameter; empty elsewhere.
std::vector<double> assemble(const std::vector<MasterRows>& mine, Shape full, ControlPlane& control) {
  // A rank whose shard is all pads, or that keeps no row, has an empty piece or none.
  const std::vector<std::string> pieces =
      control.gather(mine.empty() ? std::string() : pack_piece(mine.front()));
  std::vector<double> matrix;
  if (control.rank() != 0) return matrix;
  matrix.assign(static_cast<std::size_t>(full.elements().value()), std::numeric_limits<double>::quiet_NaN());
  for (const std::string& bytes : pieces) {
    if (bytes.empty()) continue;
    const PieceHead head = unpack<PieceHead>(bytes.substr(0, sizeof(PieceHead))).front();
    const std::vector<float> values = unpack<float>(bytes.substr(sizeof(PieceHead)));
    for (std::int64_t r = 0; r < head.rows.count; ++r)
      for (std::int64_t c = 0; c < head.cols.count; ++c)
        matrix[static_cast<std::size_t>((head.rows.begin + r) * full.cols + head.cols.begin + c)] =
            static_cast<double>(values[static_cast<std::size_t>(r * head.cols.count + c)]);
  }
  return matrix;
}

template <class T>
double norm(const std::vector<T>& values) {
  double sum = 0.0;
  for (const T value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

template <class A, class B>
double norm_of_difference(const std::vector<A>& a, const std::vector<B>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double diff = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += diff * diff;
  }
  return std::sqrt(sum);
}

/// Keeps the worst of several comparisons. A NaN is the worst of all.
class Judge {
 public:
  explicit Judge(GoldenRow& row) : row_(row) {}

  template <class T>
  void compare(const std::vector<double>& got, const std::vector<T>& expected, double bound) {
    for (std::size_t i = 0; i < got.size(); ++i)
      row_.max_abs_error = worse(row_.max_abs_error, std::abs(got[i] - static_cast<double>(expected[i])));
    const double error = norm_of_difference(got, expected);
    const double size = norm(expected);
    row_.relative_error = worse(row_.relative_error, size > 0.0 ? error / size : error);
    // A bound of 0 (an all-zero reference) is met by no error at all.
    const double ratio = error == 0.0 ? 0.0 : error / bound;
    row_.of_bound = worse(row_.of_bound, ratio);
  }

 private:
  static double worse(double a, double b) { return std::isnan(a) || a > b ? a : b; }
  GoldenRow& row_;
};

/// Runs a case step by step on the world's domain.
class CaseRun {
 public:
  CaseRun(const GoldenCase& golden, DomainShape domain, RankContext& context)
      : golden_(golden),
        context_(context),
        grid_(GridShape{domain.tp, domain.gtp_remat}),
        params_(make_params(domain)),
        inputs_(make_inputs()),
        program_(build_program(mode(), inputs_, context.rank)),
        executor_(program_, context.device, context.comms.table()),
        state_(program_, inputs_, context.rank, context.device, executor_) {}

  GoldenRow run() {
    row_.name = golden_.name;
    switch (golden_.kind) {
      case GoldenKind::kNewtonSchulz: run_newton_schulz(); break;
      case GoldenKind::kMuon:
        run_trajectory(golden_.muon.fp32_matmul_prec == MatmulPrecision::kMedium ? 3e-2 : 2e-4,
                       {{"momentum", StateKind::kMomentum}});
        break;
      case GoldenKind::kAdam:
        run_trajectory(1e-5, {{"exp_avg", StateKind::kExpAvg}, {"exp_avg_sq", StateKind::kExpAvgSq}});
        break;
    }
    return row_;
  }

 private:
  [[nodiscard]] Shape full() const { return params_.params.front().shape; }

  [[nodiscard]] const Mode& mode() const {
    return mode_named(golden_.kind == GoldenKind::kAdam ? "adam_dim0" : "layer_sharded");
  }

  [[nodiscard]] ParamSet make_params(DomainShape domain) const {
    Parameter param;
    param.name = golden_.name;
    param.dims = static_cast<int>(golden_.shape.size());
    param.shape = Shape{golden_.shape[0], param.dims == 2 ? golden_.shape[1] : 1};
    param.optimizer = golden_.kind == GoldenKind::kAdam ? OptimizerKind::kAdam : OptimizerKind::kMuon;
    param.group = "dense";
    if (param.shape.rows % domain.tp == 0)
      param.tp_dim = 0;
    else if (param.dims == 2 && param.shape.cols % domain.tp == 0)
      param.tp_dim = 1;
    return ParamSet{{param}};
  }

  [[nodiscard]] StepInputs make_inputs() const {
    RunConfig config;
    config.parallelism.pad_for_alignment = kPadForAlignment;
    config.run.param_dtype = DType::kFp32;
    config.run.backend = value_in(kBackendNames, context_.device.capabilities().backend).value();
    config.muon = golden_.muon;
    config.adam = golden_.adam;
    if (golden_.kind == GoldenKind::kNewtonSchulz) {
      // w = 0 - 1 * scale * NS(g): the update itself, with its sign turned.
      config.muon.lr = 1.0;
      config.muon.momentum = 0.0;
      config.muon.nesterov = false;
      config.muon.weight_decay = 0.0;
    }
    std::vector<std::string> warnings;
    return make_step_inputs(config, params_, grid_, warnings);
  }

  void step(const ValueSource& values, std::int64_t k) {
    state_.load_gradients(values, k);
    static_cast<void>(executor_.run_step(StepContext{k}, PhaseTiming::kOff));
  }

  [[nodiscard]] std::vector<double> master() {
    return assemble(state_.read_master(), full(), context_.control);
  }

  void run_newton_schulz() {
    const GivenValues values(full().cols, std::vector<float>(golden_.input.size(), 0.0F), {golden_.input});
    state_.initialise(values);
    step(values, 0);
    std::vector<double> out = master();
    const double scale = scale_factor(inputs_.ns.scale_mode, full());
    for (double& value : out) value = -value / scale;
    const double b = golden_.muon.fp32_matmul_prec == MatmulPrecision::kMedium ? 5e-3 : 2e-5;
    const double bound =
        2.0 * norm_of_difference(golden_.output, golden_.output_float64) + b * norm(golden_.output_float64);
    Judge(row_).compare(out, golden_.output_float64, bound);
  }

  void run_trajectory(double b, const std::vector<std::pair<std::string, StateKind>>& moments) {
    const GivenValues values(full().cols, golden_.weight_before, golden_.grads);
    state_.initialise(values);
    Judge judge(row_);
    const auto bound = [b](double change, double steps, double size) {
      return b * change + steps * 0x1p-24 * size;
    };
    const auto steps = static_cast<std::int64_t>(golden_.grads.size());
    for (std::int64_t k = 0; k < steps; ++k) {
      step(values, k);
      const std::vector<float>& expected = golden_.weight_after[static_cast<std::size_t>(k)];
      judge.compare(master(), expected,
                    bound(norm_of_difference(expected, golden_.weight_before), static_cast<double>(k + 1),
                          norm(expected)));
    }
    for (const auto& [name, kind] : moments) {
      const std::vector<float>& expected = golden_.moments_after.at(name);
      const std::vector<double> got = assemble(state_.read(kind), full(), context_.control);
      judge.compare(got, expected, bound(norm(expected), static_cast<double>(steps), norm(expected)));
    }
  }

  const GoldenCase& golden_;
  RankContext& context_;
  GoldenRow row_;
  RankGrid grid_;
  ParamSet params_;
  StepInputs inputs_;
  StepProgram program_;
  Executor executor_;
  RankState state_;
};

}  // namespace

GoldenRow run_golden_case(const GoldenCase& golden, DomainShape domain, RankContext& context) {
  GoldenRow row = CaseRun(golden, domain, context).run();
  // Rank 0 alone saw the full matrices.
  const std::vector<double> judged = unpack<double>(
      context.control.broadcast(pack(std::vector{row.max_abs_error, row.relative_error, row.of_bound})));
  row.max_abs_error = judged[0];
  row.relative_error = judged[1];
  row.of_bound = judged[2];
  return row;
}

}  // namespace muonbench
