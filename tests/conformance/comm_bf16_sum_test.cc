// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/conformance/comm_conformance.h"
#include "tests/conformance/device_array.h"

#include "src/base/even_part.h"

// What every transport must do when it sums bf16 numbers, which MPI does not know.
namespace muonbench {
namespace {

using Bits = std::vector<std::uint16_t>;

void run_on_a_queue(Transfer& transfer, Device& device) { run(transfer, device, device.make_queue()); }

TEST_P(CommConformance, SumsOfBf16AreExactWhereTheyAreBf16AndLeaveTheRestAlone) {
  for_each_rank([](Comm& comm, Device& device) {
    constexpr std::int64_t kSizes[] = {5, 0, 1, 70000, 33};
    std::int64_t size = 0;
    for (const std::int64_t one : kSizes) size += one + 1;  // and one that is left alone
    // Whole numbers up to 256 are bf16: those of 16 ranks add up to less.
    const auto value = [](int rank, std::int64_t i, int round) { return (rank * 5 + i * 3 + round) % 16; };
    DeviceArray<std::uint16_t> array(device, Bits(static_cast<std::size_t>(size)));
    const auto transfer = comm.prepare(BoundAllReduce{regions_apart(array.data(), kSizes), DType::kBf16});
    for (int round = 0; round < 3; ++round) {
      Bits mine, expected;
      for (std::int64_t i = 0; i < size; ++i)
        mine.push_back(bf16_from_fp32(static_cast<float>(value(comm.rank(), i, round))));
      expected = mine;
      std::int64_t at = 0;
      for (const std::int64_t one : kSizes) {
        for (std::int64_t i = at; i < at + one; ++i) {
          std::int64_t sum = 0;
          for (int rank = 0; rank < comm.size(); ++rank) sum += value(rank, i, round);
          expected[static_cast<std::size_t>(i)] = bf16_from_fp32(static_cast<float>(sum));
        }
        at += one + 1;
      }
      array.write(mine);
      run_on_a_queue(*transfer, device);
      EXPECT_EQ(array.read(), expected) << "rank " << comm.rank() << ", round " << round;
    }
  });
}

TEST_P(CommConformance, SumsOfBf16AreNearAndHaveTheSameBitsOnAllRanksAndInEveryRun) {
  for_each_rank([](Comm& comm, Device& device) {
    for (const std::size_t size : {std::size_t{3}, std::size_t{1000}, std::size_t{50000}}) {
      const auto value = [](int rank, std::size_t i) {
        return round_to_bf16(1.0F / static_cast<float>(3 + static_cast<int>(i) * 7 + rank * 13));
      };
      Bits values;
      for (std::size_t i = 0; i < size; ++i) values.push_back(bf16_from_fp32(value(comm.rank(), i)));
      DeviceArray<std::uint16_t> array(device, values);
      const auto sum = comm.prepare(BoundAllReduce{{{array.data(), array.size()}}, DType::kBf16});
      run_on_a_queue(*sum, device);
      const Bits first = array.read();
      array.write(values);
      run_on_a_queue(*sum, device);
      EXPECT_EQ(array.read(), first) << "another run";
      for (std::size_t i = 0; i < size; ++i) {
        double exact = 0;
        for (int rank = 0; rank < comm.size(); ++rank) exact += double{value(rank, i)};
        // Each addition of positive numbers may round by 2^-9 of what is there, or one rounding does at the
        // end.
        ASSERT_NEAR(fp32_from_bf16(first[i]), exact, comm.size() * exact * 0x1p-9);
      }

      const DeviceArray<std::uint16_t> all(device, Bits(size * static_cast<std::size_t>(comm.size())));
      BoundAllGather gather{DType::kBf16, {array.data(), array.size()}, {}};
      for (int peer = 0; peer < comm.size(); ++peer)
        gather.receives.push_back({all.data() + peer * array.size(), array.size()});
      run_on_a_queue(*comm.prepare(gather), device);
      Bits repeated;
      for (int peer = 0; peer < comm.size(); ++peer)
        repeated.insert(repeated.end(), first.begin(), first.end());
      EXPECT_EQ(all.read(), repeated);
    }
  });
}

TEST_P(CommConformance, ANaNAmongBf16NumbersIsANaNEverywhere) {
  for_each_rank([](Comm& comm, Device& device) {
    const bool last = comm.rank() == comm.size() - 1;
    const float mine = last ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
    const DeviceArray<std::uint16_t> array(device, Bits(9, bf16_from_fp32(mine)));
    run_on_a_queue(*comm.prepare(BoundAllReduce{{{array.data(), array.size()}}, DType::kBf16}), device);
    for (const std::uint16_t bits : array.read()) EXPECT_TRUE(std::isnan(fp32_from_bf16(bits)));
  });
}

TEST_P(CommConformance, CountsTwoBytesForEachBf16Number) {
  for_each_rank([](Comm& comm, Device& device) {
    const DeviceArray<std::uint16_t> array(device, Bits(1003));
    run_on_a_queue(*comm.prepare(BoundAllReduce{{{array.data(), 1003}}, DType::kBf16}), device);
    const std::int64_t others = comm.size() - 1, part = even_part(1003, comm.size(), comm.rank());
    const std::int64_t bytes = others > 0 ? 2 * ((1003 - part) + others * part) : 0;
    EXPECT_EQ(comm.counters().sent, Bytes(bytes));
    EXPECT_EQ(comm.counters().received, Bytes(bytes));
  });
}

}  // namespace
}  // namespace muonbench
