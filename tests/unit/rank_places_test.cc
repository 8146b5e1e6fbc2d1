// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/rank_places.h"

#include <gtest/gtest.h>

namespace muonbench {
namespace {

constexpr const char* kRemedy = "; mpi takes several ranks on one GPU";

TEST(SharedGpuRefusal, IsEmptyWhereEveryRankHasAGpuOfItsOwn) {
  EXPECT_EQ(shared_gpu_refusal("nccl", {}), "");
  // Bus ids are a host's own: the same one on another host is another GPU.
  EXPECT_EQ(
      shared_gpu_refusal("nccl", {{"n1", "0000:1b:00.0"}, {"n1", "0000:43:00.0"}, {"n2", "0000:1b:00.0"}}),
      "");
}

TEST(SharedGpuRefusal, SaysHowManyRanksShareHowManyGpusOfWhichHost) {
  EXPECT_EQ(
      shared_gpu_refusal(
          "nccl",
          {{"n1", "0000:1b:00.0"}, {"n1", "0000:43:00.0"}, {"n1", "0000:1b:00.0"}, {"n1", "0000:43:00.0"}}),
      std::string("run.transport: nccl takes one rank per GPU, but host n1 has 4 ranks on 2 GPUs: ranks 0, 2 "
                  "share 0000:1b:00.0; ranks 1, 3 share 0000:43:00.0") +
          kRemedy);
}

TEST(SharedGpuRefusal, LeavesOutGpusThatAreNotShared) {
  EXPECT_EQ(
      shared_gpu_refusal("nccl", {{"n1", "0000:1b:00.0"}, {"n1", "0000:43:00.0"}, {"n1", "0000:43:00.0"}}),
      std::string("run.transport: nccl takes one rank per GPU, but host n1 has 3 ranks on 2 GPUs: ranks 1, 2 "
                  "share 0000:43:00.0") +
          kRemedy);
}

TEST(SharedGpuRefusal, NamesTheHostWhereItHappensAndNoOther) {
  EXPECT_EQ(
      shared_gpu_refusal("nccl", {{"n1", "0000:1b:00.0"}, {"n2", "0000:1b:00.0"}, {"n2", "0000:1b:00.0"}}),
      std::string("run.transport: nccl takes one rank per GPU, but host n2 has 2 ranks on 1 GPU: ranks 1, 2 "
                  "share 0000:1b:00.0") +
          kRemedy);
}

TEST(SharedGpuRefusal, NamesTheTransport) {
  EXPECT_EQ(
      shared_gpu_refusal("copy_engine", {{"n1", "0000:1b:00.0"}, {"n1", "0000:1b:00.0"}}),
      std::string("run.transport: copy_engine takes one rank per GPU, but host n1 has 2 ranks on 1 GPU: "
                  "ranks 0, 1 share 0000:1b:00.0") +
          kRemedy);
}

TEST(SeveralHostsRefusal, NamesEachHostOnce) {
  EXPECT_EQ(several_hosts_refusal("copy_engine", {}), "");
  EXPECT_EQ(several_hosts_refusal("copy_engine", {{"n1", "0000:1b:00.0"}, {"n1", "0000:43:00.0"}}), "");
  EXPECT_EQ(
      several_hosts_refusal(
          "copy_engine",
          {{"n2", "0000:1b:00.0"}, {"n1", "0000:43:00.0"}, {"n2", "0000:43:00.0"}, {"n1", "0000:1b:00.0"}}),
      "run.transport: copy_engine goes between GPUs of one host, but the ranks are on 2: n2, n1; nccl "
      "goes between hosts");
}

}  // namespace
}  // namespace muonbench
