// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/loopback/loopback_comm.h"

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/comm_conformance.h"

#include "src/backend/select.h"
#include "src/base/error.h"

namespace muonbench {
namespace {

/// One thread per rank. The message of what each rank threw, empty if nothing.
std::vector<std::string> run_threads(int size, const RankBody& body) {
  const auto hub = make_loopback_hub(size);
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto device = make_device("cpu", /*local_rank=*/1);
        const auto comm = make_loopback_comm(hub, rank);
        body(*comm, *device);
      } catch (const std::exception& failure) {
        failures[static_cast<std::size_t>(rank)] = failure.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

CommCase loopback_case(int size) {
  return {"loopback" + std::to_string(size), [size](const RankBody& body) {
            for (const std::string& failure : run_threads(size, body)) EXPECT_EQ(failure, "");
          }};
}

INSTANTIATE_TEST_SUITE_P(Loopback, CommConformance,
                         testing::Values(loopback_case(1), loopback_case(2), loopback_case(3),
                                         loopback_case(8)),
                         [](const testing::TestParamInfo<CommCase>& each) { return each.param.name; });

// `size_of` of the pair (sender, receiver) as each of the two sees it.
void exchange(Comm& comm, const std::function<std::int64_t(int peer)>& sends,
              const std::function<std::int64_t(int peer)>& receives) {
  std::vector<float> memory(100);
  BoundAllToAll work{.dtype = DType::kFp32, .sends = {}, .receives = {}};
  for (int peer = 0; peer < comm.size(); ++peer) {
    work.sends.push_back({memory.data(), sends(peer)});
    work.receives.push_back({memory.data() + 50, receives(peer)});
  }
  const auto transfer = comm.prepare(work);
  transfer->start(Queue{});
  transfer->wait(Queue{});
}

TEST(LoopbackComm, NamesBothRanksAndSizesWhenTheyDiffer) {
  const auto failures = run_threads(3, [](Comm& comm, Device&) {
    const bool sender = comm.rank() == 1;
    exchange(
        comm, [&](int peer) { return sender && peer == 2 ? 5 : 0; },
        [&](int peer) { return comm.rank() == 2 && peer == 1 ? 7 : 0; });
    // Ranks that had nothing to do with it are told when they wait the next time.
    exchange(
        comm, [](int) { return 1; }, [](int) { return 1; });
  });
  EXPECT_EQ(failures[2], "loopback: rank 2 receives in all_to_all 7 elements from rank 1, which sends 5");
  for (const int other : {0, 1}) EXPECT_NE(failures[static_cast<std::size_t>(other)], "") << other;
}

TEST(LoopbackComm, SaysWhenRanksAreInDifferentCollectives) {
  const auto failures = run_threads(2, [](Comm& comm, Device&) {
    if (comm.rank() == 0)
      return exchange(
          comm, [](int) { return 1; }, [](int) { return 1; });
    std::vector<float> memory(2);
    const auto transfer = comm.prepare(
        BoundAllGather{DType::kFp32, {memory.data(), 1}, {{memory.data(), 1}, {memory.data() + 1, 1}}});
    transfer->start(Queue{});
    transfer->wait(Queue{});
  });
  for (const std::string& failure : failures) {
    EXPECT_NE(failure.find("all_gather"), std::string::npos) << failure;
    EXPECT_NE(failure.find("all_to_all"), std::string::npos) << failure;
  }
}

TEST(LoopbackComm, TellsWhoWaitsThatItsPeerIsGone) {
  const auto failures = run_threads(3, [](Comm& comm, Device&) {
    if (comm.rank() == 1) throw RuntimeFailure("rank 1 has had enough");
    exchange(
        comm, [](int) { return 1; }, [](int) { return 1; });
  });
  EXPECT_EQ(failures[1], "rank 1 has had enough");
  for (const std::size_t other : {0U, 2U})
    EXPECT_NE(failures[other].find("loopback: rank"), std::string::npos) << failures[other];
}

}  // namespace
}  // namespace muonbench
