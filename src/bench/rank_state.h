// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "src/backend/backend.h"
#include "src/bench/value_source.h"
#include "src/exec/executor.h"
#include "src/program/modes.h"
#include "src/program/program.h"

namespace muonbench {

/// fp32 numbers of the rows that a rank keeps of one parameter, with their place in the full matrix.
struct MasterRows {
  ParamIndex param;
  Range rows;  ///< of the full matrix
  Range cols;  ///< of the full matrix
  Counted counted = Counted::kHere;
  std::vector<float> values;  ///< rows x cols
};

/// The persistent arrays of a bound program on one rank: filled before the first step and before each step,
/// read after.
class RankState {
 public:
  /// All arguments must outlive the state.
  RankState(const StepProgram& program, const StepInputs& inputs, WorldRank rank, Device& device,
            const Executor& executor)
      : program_(program), inputs_(inputs), rank_(rank), device_(device), executor_(executor) {}

  /// Weights and master from `values`, everything else zero; pads zero.
  void initialise(const ValueSource& values);
  void load_gradients(const ValueSource& values, std::int64_t step);

  /// Master copies of all parameters that this rank holds, in model order.
  [[nodiscard]] std::vector<MasterRows> read_master() const;
  /// Weights of the shard as fp32, true rows only, one entry per parameter held; `counted` means nothing
  /// here.
  [[nodiscard]] std::vector<MasterRows> read_weights() const;
  /// An array of one kind, true rows only, for every parameter of which this rank keeps some.
  [[nodiscard]] std::vector<MasterRows> read(StateKind kind) const;

 private:
  enum class Values { kWeights, kGradients };
  [[nodiscard]] ShardExtent extent(ParamIndex p) const;
  void fill(BufferId buffer, const ValueSource& values, Values which, std::int64_t step);
  void zero(BufferId buffer);
  void upload(BufferId buffer, const std::vector<float>& values);
  [[nodiscard]] std::vector<float> download(Region region) const;

  const StepProgram& program_;
  const StepInputs& inputs_;
  WorldRank rank_;
  Device& device_;
  const Executor& executor_;
};

}  // namespace muonbench
