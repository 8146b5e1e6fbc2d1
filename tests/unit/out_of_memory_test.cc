// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/out_of_memory.h"

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/bench/host_memory.h"

namespace muonbench {
namespace {

TEST(OutOfMemory, SaysTheUseWhatWasAskedForWhatThereIsWhatIsHeldAndWhatWouldHelp) {
  BytesByUse held{};
  held[static_cast<std::size_t>(MemoryUse::kWeights)] = Bytes(12);
  held[static_cast<std::size_t>(MemoryUse::kAdam)] = Bytes(48);
  try {
    fail_allocation(MemoryUse::kExchange, Bytes(100), Bytes(7), held);
  } catch (const RuntimeFailure& failure) {
    EXPECT_STREQ(
        failure.what(),
        "out of memory for exchange: 100 bytes asked for, 7 bytes available; this rank holds, in bytes: "
        "weights 12, adam 48; what would shrink exchange: a larger domain, parallelism.gtp_remat x tp; "
        "more pp, or ep for experts");
  }
}

TEST(OutOfMemory, EveryUseHasARemedyAndAFirstAllocationHoldsNothing) {
  for (const MemoryUse use : kAllMemoryUses) EXPECT_FALSE(remedy_for(use).empty()) << name_of(use);
  EXPECT_EQ(described(BytesByUse{}), "nothing");
}

MemoryClaim claim(std::int64_t momentum, std::int64_t exchange, std::int64_t available) {
  MemoryClaim claim;
  claim.by_use[static_cast<std::size_t>(MemoryUse::kMomentum)] = Bytes(momentum);
  claim.by_use[static_cast<std::size_t>(MemoryUse::kExchange)] = Bytes(exchange);
  claim.available = available;
  return claim;
}

TEST(HostMemory, RanksThatEachFitButNotTogetherAreRefusedOnce) {
  const std::vector<MemoryClaim> claims = {claim(30, 10, 100), claim(40, 10, 99), claim(5, 5, 100)};
  EXPECT_EQ(
      memory_refusal({"host a", "host a", "host a"}, claims),
      "out of memory on host a: 3 ranks there ask for 100 bytes, 99 bytes available; the heaviest, rank 1, "
      "asks for 50 bytes, by use: momentum 40, exchange 10; what would shrink momentum: " +
          std::string(remedy_for(MemoryUse::kMomentum)));
}

TEST(HostMemory, EachMemoryIsComparedWithItsOwnRanks) {
  const std::vector<MemoryClaim> claims = {claim(30, 10, 100), claim(40, 10, 99), claim(50, 10, 59)};
  EXPECT_EQ(memory_refusal({"host a", "host a", "host a"}, {claims[0], claims[1]}), std::nullopt);
  const auto refusal = memory_refusal({"host a", "host a", "device 0000:1b:00.0 of host a"}, claims);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_TRUE(
      refusal->starts_with("out of memory on device 0000:1b:00.0 of host a: 1 rank there asks for 60 bytes"))
      << *refusal;
}

TEST(HostMemory, ExactlyAsMuchAsThereIsFits) {
  EXPECT_EQ(memory_refusal({"host a", "host a"}, {claim(60, 0, 100), claim(0, 40, 100)}), std::nullopt);
  EXPECT_TRUE(memory_refusal({"host a", "host a"}, {claim(60, 1, 100), claim(0, 40, 100)}).has_value());
}

TEST(HostMemory, UnknownMemoryRefusesNothing) {
  MemoryClaim unknown = claim(1'000'000'000'000, 0, 0);
  unknown.available = MemoryClaim{}.available;
  EXPECT_EQ(memory_refusal({"host a"}, {unknown}), std::nullopt);
}

}  // namespace
}  // namespace muonbench
