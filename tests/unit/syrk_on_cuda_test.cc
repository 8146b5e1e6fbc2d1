// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// What a configuration of syrk on backend cuda is refused, and what it is told.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/bench/resolve.h"
#include "src/config/read_config.h"

namespace muonbench {
namespace {

constexpr auto kJob = R"({"model": {"params": [{"name": "even", "shape": [64, 32], "repeat": 3},
    {"name": "odd", "shape": [12, 20]}, {"name": "odd_too", "shape": [16, 9]},
    {"name": "idle", "shape": [7, 7], "gradient": "none"}, {"name": "table", "shape": [9, 5], "optimizer": "adam"}]},
    "modes": ["layer_sharded"], "muon": {"ns_algorithm": "syrk"}})";
const ConfigVocabulary kBoth = {{"layer_sharded"}, {"cpu", "cuda"}};

std::vector<std::string> warnings(const std::vector<std::string>& overrides) {
  return resolve(read_config(kJob, "job.json", overrides, kBoth))->warnings;
}

TEST(SyrkOnCuda, TellsWhichMatricesItSavesNothingOn) {
  EXPECT_EQ(warnings({"run.backend=cuda"}),
            std::vector<std::string>{
                "muon.ns_algorithm syrk: 2 of 5 matrices have a side that is no multiple of 8; "
                "their symmetric products are computed whole (the first: odd, 12 x 20)"});
  EXPECT_TRUE(warnings({}).empty());
  EXPECT_TRUE(warnings({"run.backend=cuda", "muon.ns_algorithm=gemm"}).empty());
}

TEST(SyrkOnCuda, IsRefusedWhereProductsAreNotThoseOfBf16) {
  for (const std::string precision : {"highest", "high"}) {
    const std::vector<std::string> overrides = {"run.backend=cuda", "muon.fp32_matmul_prec=" + precision};
    try {
      static_cast<void>(read_config(kJob, "job.json", overrides, kBoth));
      ADD_FAILURE() << precision;
    } catch (const ConfigError& error) {
      EXPECT_EQ(
          std::string(error.what()),
          "job.json: muon.ns_algorithm: expected gemm, as run.backend is cuda, whose symmetric products are "
          "those of bf16 (muon.fp32_matmul_prec medium), got \"syrk\"");
    }
  }
  EXPECT_NO_THROW(static_cast<void>(read_config(kJob, "job.json", {"muon.fp32_matmul_prec=highest"}, kBoth)));
}

}  // namespace
}  // namespace muonbench
