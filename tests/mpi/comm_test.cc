// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/conformance/comm_conformance.h"
#include "tests/conformance/device_array.h"
#include <gtest/gtest.h>

#include "src/backend/mpi/mpi_comm.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/backend/select.h"
#include "src/base/error.h"

namespace muonbench {
namespace {

/// main() runs MPI already; this one uses it.
MpiRuntime& runtime() {
  static MpiRuntime the_runtime(nullptr, nullptr);
  return the_runtime;
}

CommCase world_case(const std::string& name, MpiCommOptions options) {
  return {name, [options](const RankBody& body) {
            const auto device = make_device("cpu", runtime().local_rank() + 1);
            const auto comm = make_mpi_comm(runtime(), /*color=*/0, runtime().rank().value(), options);
            ASSERT_EQ(comm->size(), runtime().size());
            ASSERT_EQ(comm->rank(), runtime().rank().value());
            body(*comm, *device);
          }};
}

/// Even and odd ranks, in descending order; two groups communicate at the same time.
CommCase halves_case() {
  return {"halves", [](const RankBody& body) {
            const int rank = runtime().rank().value();
            const auto device = make_device("cpu", runtime().local_rank() + 1);
            const auto comm = make_mpi_comm(runtime(), /*color=*/rank % 2, /*key=*/-rank);
            // As many ranks of this half come first as are higher than this one.
            ASSERT_EQ(comm->rank(), (runtime().size() - 1 - rank) / 2);
            body(*comm, *device);
          }};
}

INSTANTIATE_TEST_SUITE_P(Mpi, CommConformance,
                         testing::Values(world_case("spin", {.waiting = MpiWaiting::kSpin}),
                                         world_case("yield", {.waiting = MpiWaiting::kYield}),
                                         world_case("many_messages", {.waiting = MpiWaiting::kYield,
                                                                      .largest_message = 777,
                                                                      .reduced_at_a_time = 2000}),
                                         halves_case()),
                         [](const testing::TestParamInfo<CommCase>& each) { return each.param.name; });

TEST(MpiComm, DeliversSegmentsThatAreCutIntoSeveralMessages) {
  const auto device = make_device("cpu", 1);
  const auto comm = make_mpi_comm(runtime(), 0, runtime().rank().value(),
                                  {.waiting = MpiWaiting::kYield, .largest_message = 3});
  const auto n = static_cast<std::size_t>(comm->size());
  std::vector<float> own, all;
  for (std::size_t i = 0; i < 10; ++i)
    own.push_back(static_cast<float>(100 * comm->rank()) + static_cast<float>(i));
  for (std::size_t i = 0; i < 10 * n; ++i) all.push_back(static_cast<float>(100 * (i / 10) + i % 10));
  const DeviceArray<float> send(*device, own);
  const DeviceArray<float> receive(*device, std::vector<float>(10 * n));
  BoundAllGather work{.dtype = DType::kFp32, .send = {send.data(), 10}, .receives = {}};
  for (std::size_t peer = 0; peer < n; ++peer) work.receives.push_back({receive.data() + 10 * peer, 10});
  const auto transfer = comm->prepare(work);
  transfer->start(Queue{});
  transfer->wait(Queue{});
  EXPECT_EQ(receive.read(), all);
  EXPECT_EQ(comm->counters().collectives, n > 1 ? 1 : 0);
}

TEST(MpiComm, LeavesRanksOfANegativeColorOut) {
  const bool first = runtime().rank() == WorldRank(0);
  const auto comm = make_mpi_comm(runtime(), first ? 0 : -1, 0);
  ASSERT_EQ(comm != nullptr, first);
  EXPECT_TRUE(!first || comm->size() == 1);
}

// Rank 0 sends `sent` elements to rank 1, which expects `expected`; returns what rank 1 threw.
std::string mismatch(std::int64_t sent, std::int64_t expected) {
  const auto comm = make_mpi_comm(runtime(), 0, runtime().rank().value());
  const auto n = static_cast<std::size_t>(comm->size());
  std::vector<float> memory(100);
  BoundAllToAll work{DType::kFp32, std::vector<BoundSegment>(n, {nullptr, 0}),
                     std::vector<BoundSegment>(n, {nullptr, 0})};
  if (comm->rank() == 0) work.sends[1] = {memory.data(), sent};
  if (comm->rank() == 1) work.receives[0] = {memory.data(), expected};
  const auto transfer = comm->prepare(work);
  try {
    transfer->start(Queue{});
    transfer->wait(Queue{});
  } catch (const RuntimeFailure& failure) {
    return failure.what();
  }
  return {};
}

TEST(MpiComm, NamesRankPeerAndSizesWhenAMessageIsTooShort) {
  if (runtime().size() < 2) GTEST_SKIP() << "needs two ranks";
  const std::string failure = mismatch(5, 7);
  if (runtime().rank() != WorldRank(1)) {
    EXPECT_EQ(failure, "");
    return;
  }
  EXPECT_NE(failure.find("rank 1 on host"), std::string::npos) << failure;
  EXPECT_NE(failure.find("expected 7 elements from group rank 0, got 5"), std::string::npos) << failure;
}

TEST(MpiComm, NamesRankPeerAndSizesWhenAMessageIsTooLong) {
  if (runtime().size() < 2) GTEST_SKIP() << "needs two ranks";
  const std::string failure = mismatch(7, 5);
  if (runtime().rank() != WorldRank(1)) {
    EXPECT_EQ(failure, "");
    return;
  }
  EXPECT_NE(failure.find("rank 1 on host"), std::string::npos) << failure;
  // MPI's own complaint, or ours where its library leaves it at a count.
  const bool by_mpi = failure.find("receiving 5 elements from group rank 0) failed") != std::string::npos &&
                      failure.find("MPI_ERR_TRUNCATE") != std::string::npos;
  const bool by_count = failure.find("expected 5 elements from group rank 0, got 7") != std::string::npos;
  EXPECT_TRUE(by_mpi || by_count) << failure;
}

TEST(MpiRuntime, KnowsItsPlace) {
  EXPECT_GE(runtime().rank(), WorldRank(0));
  EXPECT_LT(runtime().rank().value(), runtime().size());
  // All ranks of a test share one machine.
  EXPECT_EQ(runtime().local_rank(), runtime().rank().value());
  EXPECT_EQ(runtime().local_size(), runtime().size());
  EXPECT_GE(runtime().local_cores(), 1);
  EXPECT_FALSE(runtime().host().empty());
  EXPECT_NE(mpi_library_version().find("MPI"), std::string::npos);
}

TEST(MpiRuntime, BroadcastsTheRootsTextToAll) {
  const WorldRank root(runtime().size() - 1);
  const std::string text(100000, 'x');
  EXPECT_EQ(runtime().broadcast(runtime().rank() == root ? text : "mine", root), text);
  EXPECT_EQ(runtime().broadcast(runtime().rank() == WorldRank(0) ? "" : "mine"), "");
}

TEST(MpiRuntime, GathersTextsOfDifferentLengthsByRank) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank) * 3, static_cast<char>('a' + rank));
  };
  const WorldRank root(runtime().size() / 2);
  const std::vector<std::string> texts = runtime().gather(text_of(runtime().rank().value()), root);
  if (runtime().rank() != root) {
    EXPECT_TRUE(texts.empty());
    return;
  }
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(runtime().size()));
  for (int rank = 0; rank < runtime().size(); ++rank)
    EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text_of(rank));
}

TEST(MpiRuntime, ReducesValuesOfAllRanks) {
  const int rank = runtime().rank().value();
  const int last = runtime().size() - 1;
  const std::vector<double> numbers = {1.5 * rank, -1.0};
  EXPECT_EQ(runtime().all_reduce(numbers, Reduction::kMax), (std::vector<double>{1.5 * last, -1.0}));
  EXPECT_EQ(runtime().all_reduce(std::int64_t{rank}, Reduction::kMin), 0);
  EXPECT_EQ(runtime().all_reduce(std::int64_t{-rank}, Reduction::kSum), -last * (last + 1) / 2);
  const std::uint64_t big = std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(rank);
  EXPECT_EQ(runtime().all_reduce(big, Reduction::kMax), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(runtime().all_reduce(std::span<const double>(), Reduction::kSum).empty());
  runtime().barrier();
}

}  // namespace
}  // namespace muonbench
