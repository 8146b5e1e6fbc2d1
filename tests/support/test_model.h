// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/plan/owners.h"
#include "src/program/modes.h"

namespace muonbench {

// ---- Parameters in one line each.

[[nodiscard]] Parameter muon(std::string name, Shape shape, std::optional<int> tp_dim = std::nullopt);
[[nodiscard]] Parameter adam(std::string name, Shape shape, std::optional<int> tp_dim = std::nullopt);
[[nodiscard]] Parameter adam_vector(std::string name, std::int64_t size);  ///< 1-D, replicated over both axes
[[nodiscard]] Parameter untagged(Parameter param);                         ///< not split over gtp_remat
[[nodiscard]] Parameter without_gradient(Parameter param);
[[nodiscard]] Parameter expert(Parameter param);
/// With rows of one query group's q, k and v, which NS takes apart.
[[nodiscard]] Parameter fused(Parameter param, std::vector<std::int64_t> qkv_split);

/// Homes of one domain's candidates.
using HomeRule =
    std::function<std::vector<std::optional<Home>>(const std::vector<HomeCandidate>&, DomainShape)>;
/// Any legal home, by a generator of that seed.
[[nodiscard]] HomeRule any_homes(unsigned seed, GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn);
/// And any way for NS of a weight to be spread, or not.
[[nodiscard]] HomeRule any_spreads(unsigned seed);
[[nodiscard]] HomeRule lpt(GtpOnlyHomes gtp_only = GtpOnlyHomes::kColumn);

struct ModelOptions {
  std::int64_t pad_for_alignment = 16;
  HomeRule homes = lpt();
  int ns_batch_size = 1;
  DType param_dtype = DType::kBf16;
  QueueUse queues = QueueUse::kBackendRunsInTurn;
  DType moment_dtype = DType::kFp32;
  OwnerPolicy owners = OwnerPolicy::kPingPong;
  LayerWiseAdam layer_wise_adam = LayerWiseAdam::kLayerWise;
  ExchangeWay exchange = ExchangeWay::kTwoStage;
  DType return_dtype = DType::kFp32;
  int waves = 1;
};

/// A model over a grid, with all that emitters read. Stays where it is: its inputs refer to it.
class TestModel {
 public:
  TestModel(std::vector<Parameter> params, GridShape shape, const ModelOptions& options = {});
  TestModel(const TestModel&) = delete;
  TestModel& operator=(const TestModel&) = delete;

  [[nodiscard]] const ParamSet& params() const { return params_; }
  [[nodiscard]] const RankGrid& grid() const { return grid_; }
  [[nodiscard]] const StepInputs& inputs() const { return inputs_; }
  [[nodiscard]] std::int64_t pad_for_alignment() const { return pad_for_alignment_; }
  [[nodiscard]] const ParamShardSpec& spec(const std::string& name) const;
  [[nodiscard]] const std::optional<Home>& home(const std::string& name) const;

  /// One program per world rank.
  [[nodiscard]] std::vector<StepProgram> programs(std::string_view mode) const;
  /// Counts of each world rank's program.
  [[nodiscard]] std::vector<StepCounts> counts(std::string_view mode) const;

 private:
  void give_homes(const ModelOptions& options, const ParamGroup& group, const std::vector<ParamIndex>& params,
                  std::vector<std::optional<Home>>& homes, std::vector<int>& wave_of) const;

  ParamSet params_;
  RankGrid grid_;
  StepInputs inputs_;
  std::int64_t pad_for_alignment_;
};

[[nodiscard]] inline GridShape domain_grid(int gtp_remat, int tp, int dp = 1) {
  return GridShape{tp, gtp_remat, dp};
}

/// (gtp_remat, tp) of every way to factor the world sizes at which tests run: 1, 2, 4, 6 and 8.
[[nodiscard]] std::vector<DomainShape> all_domains();

/// Fused QKV weights of every way to shard: groups that shards cut and groups that they do not, tall and wide
/// pieces, a single group. Legal in all_domains() with pad_for_alignment > 0.
[[nodiscard]] std::vector<Parameter> fused_params();

/// Every way to shard, tall and wide, pads within a shard and over whole ranks, dims smaller than any group,
/// parameters without gradient, Adam's 2-D and 1-D. Legal in all_domains() with pad_for_alignment > 0.
[[nodiscard]] std::vector<Parameter> mixed_params();

}  // namespace muonbench
