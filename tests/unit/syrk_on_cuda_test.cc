// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// What a configuration of syrk, gram or auto is refused, and what it is told.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/bench/resolve.h"
#include "src/config/read_config.h"
#include "src/program/modes.h"

namespace muonbench {
namespace {

constexpr auto kJob = R"({"model": {"params": [{"name": "even", "shape": [64, 32], "repeat": 3},
    {"name": "odd", "shape": [12, 20]}, {"name": "odd_too", "shape": [16, 9]}, {"name": "long", "shape": [16, 20]},
    {"name": "tall", "shape": [20, 16]}, {"name": "idle", "shape": [7, 7], "gradient": "none"},
    {"name": "table", "shape": [9, 5], "optimizer": "adam"}]},
    "modes": ["layer_sharded", "duplicated"], "muon": {"ns_algorithm": "syrk"}})";
const ConfigVocabulary kBoth = {{"layer_sharded", "duplicated", "distributed", "blockwise", "auto"},
                                {"cpu", "cuda"}};

std::unique_ptr<ResolvedRun> resolved(const std::vector<std::string>& overrides) {
  return resolve(read_config(kJob, "job.json", overrides, kBoth));
}

TEST(SyrkOnCuda, TellsWhichMatricesItSavesNothingOn) {
  // A tall matrix has rows of a multiple of 8 numbers where its smaller side is one.
  EXPECT_EQ(
      resolved({"run.backend=cuda"})->warnings,
      std::vector<std::string>{
          "muon.ns_algorithm syrk: 3 of 7 matrices have rows of no multiple of 8 numbers, and their Gram "
          "matrices are computed whole (the first: odd, 12 x 20); ns_whole of each mode counts what it "
          "computes "
          "so"});
  EXPECT_TRUE(resolved({})->warnings.empty());
  EXPECT_TRUE(resolved({"run.backend=cuda", "muon.ns_algorithm=gemm"})->warnings.empty());
}

TEST(SyrkOnCuda, CountsThemInWhatEachRankComputes) {
  const auto counted = [](const std::vector<std::string>& overrides, const char* mode) {
    const auto run = resolved(overrides);
    std::vector<std::int64_t> whole;
    for (int rank = 0; rank < run->grid.world_size(); ++rank)
      whole.push_back(count_step(build_program(mode_named(mode), run->inputs, WorldRank(rank)), run->grid,
                                 WorldRank(rank))
                          .ns_whole);
    return whole;
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(counted({"run.backend=cuda"}, "layer_sharded"), Counts{3});
  EXPECT_EQ(counted({}, "layer_sharded"), Counts{0}) << "BLAS takes any side";
  EXPECT_EQ(counted({"run.backend=cuda", "muon.ns_algorithm=gemm"}, "layer_sharded"), Counts{0});
  const std::vector<std::string> on_two = {"run.backend=cuda", "parallelism.gtp_remat=2",
                                           "modes=[\"blockwise\"]"};
  // Shards of up to 16 true rows: 4 rows of tall on the second rank, which the first has 16 of; of the others
  // none.
  EXPECT_EQ(counted(on_two, "blockwise"), (Counts{3, 1}));
}

TEST(SyrkOnCuda, IsRefusedWhereProductsAreNotThoseOf16Bits) {
  const auto each = [](const std::string& precision, const std::string& algorithm) {
    const std::vector<std::string> overrides = {"run.backend=cuda", "muon.fp32_matmul_prec=" + precision,
                                                "muon.ns_algorithm=" + algorithm};
    try {
      static_cast<void>(read_config(kJob, "job.json", overrides, kBoth));
      ADD_FAILURE() << precision;
    } catch (const ConfigError& error) {
      EXPECT_EQ(
          std::string(error.what()),
          "--set muon.ns_algorithm=" + algorithm +
              ": muon.ns_algorithm: expected gemm or auto, as run.backend is cuda, whose symmetric products "
              "are those of 16 bits (muon.fp32_matmul_prec medium), got \"" +
              algorithm + "\"");
    }
  };
  for (const char* precision : {"highest", "high"})
    for (const char* algorithm : {"syrk", "gram"}) each(precision, algorithm);
  EXPECT_NO_THROW(static_cast<void>(read_config(kJob, "job.json", {"muon.fp32_matmul_prec=highest"}, kBoth)));
}

TEST(AutoOnCuda, CountsWhatEachBatchIsComputedBy) {
  constexpr auto kSizes = R"({"model": {"params": [{"name": "long", "shape": [256, 1024], "repeat": 40},
      {"name": "square", "shape": [2048, 2048]}, {"name": "small", "shape": [64, 256]}]},
      "modes": ["layer_sharded", "duplicated"], "run": {"backend": "cuda"}, "muon": {"ns_algorithm": "auto"}})";
  const auto counts = [&](const std::string& batch) {
    const auto run = resolve(read_config(kSizes, "job.json", {"muon.ns_batch_size=" + batch}, kBoth));
    const StepProgram program = build_program(mode_named("layer_sharded"), run->inputs, WorldRank(0));
    return count_step(program, run->grid, WorldRank(0)).ns_calls_by;
  };
  using Counts = std::array<std::int64_t, kNsAlgorithmsThatRun>;  // gemm, syrk, gram
  EXPECT_EQ(counts("1"), (Counts{41, 1, 0}));
  EXPECT_EQ(counts("32"), (Counts{9, 1, 32})) << "96 tiles in a batch, and 24 in the rest of it";
}

TEST(Gram, IsRefusedWhereEveryStepAddsUpAGramMatrix) {
  const auto refusal = [](const std::vector<std::string>& overrides) -> std::string {
    try {
      static_cast<void>(read_config(kJob, "job.json", overrides, kBoth));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const std::string gram = "muon.ns_algorithm=gram", both = R"(modes=["layer_sharded","distributed"])";
  EXPECT_EQ(refusal({gram, both}),
            "--set muon.ns_algorithm=gram: muon.ns_algorithm: expected gemm, syrk or auto, as mode "
            "distributed adds up the Gram matrices "
            "of every step, got \"gram\"");
  EXPECT_EQ(refusal({gram, "muon.split_oversized=true"}),
            "--set muon.ns_algorithm=gram: muon.ns_algorithm: expected gemm, syrk or auto, as "
            "muon.split_oversized adds up the Gram "
            "matrices of every step, got \"gram\"");
  EXPECT_NE(refusal({gram, R"(modes=["layer_sharded","auto"])"}).find("as mode auto adds up"),
            std::string::npos);
  EXPECT_EQ(refusal({gram}), "");
  EXPECT_EQ(refusal({"muon.ns_algorithm=auto", both}), "");
  EXPECT_EQ(refusal({"muon.ns_algorithm=auto", "run.backend=cuda", "muon.fp32_matmul_prec=highest"}), "");
}

}  // namespace
}  // namespace muonbench
