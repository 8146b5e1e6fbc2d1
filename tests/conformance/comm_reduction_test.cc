// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/conformance/comm_conformance.h"
#include "tests/conformance/device_array.h"

#include "src/base/error.h"
#include "src/base/even_part.h"

// What every transport must do when it sums.
namespace muonbench {
namespace {

// Sums of a few of them are exact in fp32.
float value_of(int rank, std::int64_t index, int round) {
  return static_cast<float>((rank * 31 + index * 3 + round * 101) % 1009);
}

float sum_at(int ranks, std::int64_t index, int round) {
  float sum = 0.0F;
  for (int rank = 0; rank < ranks; ++rank) sum += value_of(rank, index, round);
  return sum;
}

std::vector<float> values_of(int rank, std::size_t size, int round) {
  std::vector<float> values;
  for (std::size_t i = 0; i < size; ++i)
    values.push_back(value_of(rank, static_cast<std::int64_t>(i), round));
  return values;
}

TEST_P(CommConformance, AllReduceLeavesTheSumOfEachRegionOnAllRanksAndTheRestAlone) {
  for_each_rank([](Comm& comm, Device& device) {
    const Queue queue = device.make_queue();
    constexpr std::int64_t kSizes[] = {5, 0, 1, 70000, 33};
    std::size_t size = 0;
    for (const std::int64_t one : kSizes)
      size += static_cast<std::size_t>(one) + 1;  // and one that is left alone
    DeviceArray<float> array(device, std::vector<float>(size));
    BoundAllReduce work;
    work.regions = regions_apart(array.data(), kSizes);
    const auto transfer = comm.prepare(work);
    for (int round = 0; round < 3; ++round) {
      std::vector<float> expected = values_of(comm.rank(), size, round);
      array.write(expected);
      std::int64_t at = 0;
      for (const std::int64_t one : kSizes) {
        for (std::int64_t i = at; i < at + one; ++i)
          expected[static_cast<std::size_t>(i)] = sum_at(comm.size(), i, round);
        at += one + 1;
      }
      run(*transfer, device, queue);
      EXPECT_EQ(array.read(), expected)
          << "rank " << comm.rank() << " of " << comm.size() << ", round " << round;
    }
  });
}

// An array that is cut into one segment for each rank, some elements apart.
struct Scattered {
  std::vector<std::int64_t> sizes;
  std::int64_t apart = 0;

  [[nodiscard]] std::int64_t begin_of(int rank) const {
    std::int64_t begin = 0;
    for (int before = 0; before < rank; ++before) begin += sizes[static_cast<std::size_t>(before)] + apart;
    return begin;
  }
  [[nodiscard]] std::size_t length() const {
    return static_cast<std::size_t>(begin_of(static_cast<int>(sizes.size())));
  }
  [[nodiscard]] std::vector<BoundSegment> segments(float* array) const {
    std::vector<BoundSegment> all;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
      all.push_back({array + begin_of(static_cast<int>(rank)), sizes[rank]});
    return all;
  }
};

/// Equal and touching, touching with less at the end and nothing at the last, apart, large.
std::vector<Scattered> ways_to_scatter(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<Scattered> ways = {
      {std::vector<std::int64_t>(n, 12), 0}, {{}, 0}, {{}, 7}, {std::vector<std::int64_t>(n, 40000), 1}};
  for (int rank = 0; rank < ranks; ++rank) {
    ways[1].sizes.push_back(rank + 1 == ranks ? 0 : 9);
    ways[2].sizes.push_back(3 + 5 * rank);
  }
  return ways;
}

TEST_P(CommConformance, ReduceScatterLeavesEachRankTheSumOfItsSegments) {
  for_each_rank([](Comm& comm, Device& device) {
    const Queue queue = device.make_queue();
    const std::vector<Scattered> ways = ways_to_scatter(comm.size());
    std::vector<std::unique_ptr<DeviceArray<float>>> arrays;
    BoundReduceScatter work;
    for (const Scattered& way : ways) {
      arrays.push_back(std::make_unique<DeviceArray<float>>(device, std::vector<float>(way.length())));
      work.items.push_back(way.segments(arrays.back()->data()));
    }
    const auto transfer = comm.prepare(work);
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < ways.size(); ++i)
        arrays[i]->write(values_of(comm.rank(), ways[i].length(), round));
      run(*transfer, device, queue);
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const std::vector<float> got = arrays[i]->read();
        const std::int64_t begin = ways[i].begin_of(comm.rank());
        const std::int64_t size = ways[i].sizes[static_cast<std::size_t>(comm.rank())];
        std::vector<float> mine, expected;
        for (std::int64_t k = begin; k < begin + size; ++k) {
          mine.push_back(got[static_cast<std::size_t>(k)]);
          expected.push_back(sum_at(comm.size(), k, round));
        }
        EXPECT_EQ(mine, expected) << "item " << i << ", rank " << comm.rank() << ", round " << round;
        // Between two segments, and behind the last, is nobody's.
        for (int rank = 0; rank < comm.size(); ++rank) {
          for (std::int64_t k = ways[i].begin_of(rank + 1) - ways[i].apart; k < ways[i].begin_of(rank + 1);
               ++k)
            EXPECT_EQ(got[static_cast<std::size_t>(k)], value_of(comm.rank(), k, round)) << "item " << i;
        }
      }
    }
  });
}

TEST_P(CommConformance, SumsHaveTheSameBitsOnAllRanksAndInEveryRun) {
  for_each_rank([](Comm& comm, Device& device) {
    // Sums of these depend on their order; sizes in which transports may go different ways.
    for (const std::size_t size : {std::size_t{3}, std::size_t{1000}, std::size_t{50000}}) {
      std::vector<float> values;
      for (std::size_t i = 0; i < size; ++i)
        values.push_back(1.0F / static_cast<float>(3 + static_cast<int>(i) * 7 + comm.rank() * 13));
      const Queue queue = device.make_queue();
      DeviceArray<float> array(device, values);
      const auto sum = comm.prepare(BoundAllReduce{{{array.data(), array.size()}}});
      run(*sum, device, queue);
      const std::vector<float> first = array.read();
      array.write(values);
      run(*sum, device, queue);
      const auto same_bits = [](const std::vector<float>& a, std::span<const float> b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
          return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
        });
      };
      EXPECT_TRUE(same_bits(array.read(), first)) << "another run";

      const DeviceArray<float> all(device, std::vector<float>(size * static_cast<std::size_t>(comm.size())));
      BoundAllGather gather{DType::kFp32, {array.data(), array.size()}, {}};
      for (int peer = 0; peer < comm.size(); ++peer)
        gather.receives.push_back({all.data() + peer * array.size(), array.size()});
      run(*comm.prepare(gather), device, queue);
      const std::vector<float> everyones = all.read();
      for (std::size_t peer = 0; peer < static_cast<std::size_t>(comm.size()); ++peer)
        EXPECT_TRUE(same_bits(first, std::span(everyones).subspan(peer * size, size))) << "rank " << peer;
    }
  });
}

TEST_P(CommConformance, SumsAndOtherTransfersMayBeUnderWayTogether) {
  for_each_rank([](Comm& comm, Device& device) {
    const Queue queue = device.make_queue();
    const auto n = static_cast<std::size_t>(comm.size());
    const DeviceArray<float> summed(device, values_of(comm.rank(), 9000, 0));
    const DeviceArray<float> gathered(device, std::vector<float>(n, static_cast<float>(comm.rank())));
    const DeviceArray<float> scattered(device, values_of(comm.rank(), 10 * n, 1));
    BoundAllGather gather{DType::kFp32, {gathered.data() + comm.rank(), 1}, {}};
    BoundReduceScatter scatter{{{}}};
    for (int peer = 0; peer < comm.size(); ++peer) {
      gather.receives.push_back({gathered.data() + peer, 1});
      scatter.items[0].push_back({scattered.data() + 10 * peer, 10});
    }
    const std::unique_ptr<Transfer> transfers[] = {comm.prepare(BoundAllReduce{{{summed.data(), 9000}}}),
                                                   comm.prepare(gather), comm.prepare(scatter)};
    for (const auto& transfer : transfers) transfer->start(queue);
    for (std::size_t i = 0; i < 3; ++i) transfers[comm.rank() % 2 == 0 ? i : 2 - i]->wait(queue);
    device.synchronize(queue);
    const std::vector<float> sums = summed.read(), ranks = gathered.read(), parts = scattered.read();
    for (std::size_t i = 0; i < 9000; ++i)
      ASSERT_EQ(sums[i], sum_at(comm.size(), static_cast<std::int64_t>(i), 0));
    for (std::size_t peer = 0; peer < n; ++peer) EXPECT_EQ(ranks[peer], static_cast<float>(peer));
    for (std::int64_t i = 10 * comm.rank(); i < 10 * comm.rank() + 10; ++i)
      EXPECT_EQ(parts[static_cast<std::size_t>(i)], sum_at(comm.size(), i, 1));
  });
}

TEST_P(CommConformance, CountsSumsAsPartsThatAreSentAndSumsThatAreGathered) {
  for_each_rank([](Comm& comm, Device& device) {
    const std::int64_t n = comm.size(), others = n - 1;
    const Queue queue = device.make_queue();
    const DeviceArray<float> array(device, std::vector<float>(1003));
    run(*comm.prepare(BoundAllReduce{{{array.data(), 1000}, {array.data() + 1000, 3}}}), device, queue);
    const std::int64_t part = even_part(1003, comm.size(), comm.rank());
    const std::int64_t both_ways = n > 1 ? 4 * ((1003 - part) + others * part) : 0;
    EXPECT_EQ(comm.counters().collectives, n > 1 ? 1 : 0);
    EXPECT_EQ(comm.counters().sent, Bytes(both_ways));
    EXPECT_EQ(comm.counters().received, Bytes(both_ways));

    // Rank p gets 10 (p + 1) elements.
    BoundReduceScatter work{{{}}};
    for (int peer = 0; peer < comm.size(); ++peer)
      work.items[0].push_back({array.data() + 5 * peer * (peer + 1), 10 * (peer + 1)});
    const std::int64_t mine = 10 * (comm.rank() + 1), all = 5 * n * (n + 1);
    run(*comm.prepare(work), device, queue);
    EXPECT_EQ(comm.counters().collectives, n > 1 ? 2 : 0);
    EXPECT_EQ(comm.counters().sent, Bytes(both_ways + 4 * (all - mine)));
    EXPECT_EQ(comm.counters().received, Bytes(both_ways + 4 * others * mine));
  });
}

TEST_P(CommConformance, RefusesSumsThatDoNotFitTheGroup) {
  for_each_rank([](Comm& comm, Device& device) {
    const DeviceArray<float> array(device, std::vector<float>(10));
    const auto size = static_cast<std::size_t>(comm.size());
    EXPECT_THROW(static_cast<void>(comm.prepare(BoundAllReduce{{{nullptr, 4}}})), RuntimeFailure);
    EXPECT_THROW(static_cast<void>(comm.prepare(BoundAllReduce{{{array.data(), -1}}})), RuntimeFailure);
    const std::vector<BoundSegment> too_many(size + 1, {array.data(), 1}), nowhere(size, {nullptr, 1});
    EXPECT_THROW(static_cast<void>(comm.prepare(BoundReduceScatter{{too_many}})), RuntimeFailure);
    EXPECT_THROW(static_cast<void>(comm.prepare(BoundReduceScatter{{nowhere}})), RuntimeFailure);
  });
}

}  // namespace
}  // namespace muonbench
