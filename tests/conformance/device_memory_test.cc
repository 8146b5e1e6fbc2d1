// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/conformance/device_conformance.h"

#include "src/base/error.h"
#include "src/base/normal_rows.h"

namespace muonbench {

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(),
                 [](float v) { return std::bit_cast<std::uint32_t>(v); });
  return result;
}

std::vector<float> normal_values(std::int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(n));
  std::generate(values.begin(), values.end(), [&] { return normal(generator); });
  return values;
}

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST_P(DeviceConformance, SaysWhatItIs) {
  const Capabilities capabilities = device().capabilities();
  EXPECT_FALSE(capabilities.backend.empty());
  EXPECT_FALSE(capabilities.device_name.empty());
  EXPECT_GT(capabilities.memory_bytes, 1 << 20);
}

TEST_P(DeviceConformance, CountsMemoryByUseUntilItIsFreed) {
  {
    const Buffer first = device().allocate(Bytes(1000), MemoryUse::kMomentum);
    const Buffer second = device().allocate(Bytes(24), MemoryUse::kMomentum);
    Buffer moved = device().allocate(Bytes(7), MemoryUse::kAdam);
    const Buffer third = std::move(moved);
    EXPECT_EQ(device().allocated(MemoryUse::kMomentum), Bytes(1024));
    EXPECT_EQ(device().allocated(MemoryUse::kAdam), Bytes(7));
    EXPECT_EQ(device().allocated(MemoryUse::kExchange), Bytes(0));
    EXPECT_EQ(third.size(), Bytes(7));
  }
  for (const MemoryUse use : kAllMemoryUses) EXPECT_EQ(device().allocated(use), Bytes(0)) << name_of(use);
}

TEST_P(DeviceConformance, AlignsMemoryTo256Bytes) {
  std::vector<Buffer> buffers;
  for (const std::int64_t size : {1, 255, 256, 257, 100000})
    buffers.push_back(device().allocate(Bytes(size), MemoryUse::kExchange));
  for (const Buffer& buffer : buffers) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0U);
}

TEST_P(DeviceConformance, AllocatesNothingForNothing) {
  const Buffer nothing = device().allocate(Bytes(0), MemoryUse::kExchange);
  EXPECT_EQ(nothing.size(), Bytes(0));
  EXPECT_EQ(device().allocated(MemoryUse::kExchange), Bytes(0));
}

TEST_P(DeviceConformance, RefusesMoreMemoryThanThereIsAndNamesUseAndBytes) {
  try {
    const Buffer buffer = device().allocate(Bytes(std::int64_t{1} << 55), MemoryUse::kNsScratch);
    FAIL() << "32 PiB were handed out";
  } catch (const RuntimeFailure& failure) {
    const std::string message = failure.what();
    EXPECT_NE(message.find("ns_scratch"), std::string::npos) << message;
    EXPECT_NE(message.find("36028797018963968 bytes"), std::string::npos) << message;
    EXPECT_NE(message.find("available"), std::string::npos) << message;
  }
  EXPECT_EQ(device().allocated(MemoryUse::kNsScratch), Bytes(0));
}

TEST_P(DeviceConformance, WaitsForEventsOfOtherQueues) {
  const Queue one = device().make_queue();
  const Queue other = device().make_queue();
  EXPECT_NE(other.index, one.index);
  const DeviceArray<float> source(device(), counted(1000));
  const DeviceArray<float> middle(device(), std::vector<float>(1000));
  const DeviceArray<float> target(device(), std::vector<float>(1000));
  const auto copy = [&](const DeviceArray<float>& from, const DeviceArray<float>& to) {
    return device().prepare(
        BoundCopy{{BoundTile{from.data(), DType::kFp32, 1000, to.data(), DType::kFp32, 1000, {1, 1000}}}});
  };
  const auto first = copy(source, middle);
  const auto second = copy(middle, target);
  first->enqueue(one, {});
  device().wait(other, device().record(one));
  second->enqueue(other, {});
  device().synchronize(other);
  EXPECT_EQ(target.read(), counted(1000));
}

TEST_P(DeviceConformance, CopiesATileBetweenStridesAndLeavesTheRestAlone) {
  // Rows 1 and 2, columns 2 to 4 of a (4, 6) matrix to the upper left of a (3, 5) one.
  const DeviceArray<float> source(device(), counted(24));
  const DeviceArray<float> target(device(), std::vector<float>(15, -1.0F));
  run_once(
      device(),
      BoundCopy{{BoundTile{source.data() + 8, DType::kFp32, 6, target.data(), DType::kFp32, 5, {2, 3}}}});
  EXPECT_EQ(target.read(), (std::vector<float>{9, 10, 11, -1, -1, 15, 16, 17, -1, -1, -1, -1, -1, -1, -1}));
}

TEST_P(DeviceConformance, CopiesSeveralTilesEmptyOnesIncluded) {
  const DeviceArray<float> source(device(), counted(12));
  const DeviceArray<float> target(device(), std::vector<float>(12));
  const auto tile = [&](std::int64_t from, std::int64_t to, Shape shape) {
    return BoundTile{source.data() + from, DType::kFp32, shape.cols, target.data() + to,
                     DType::kFp32,         shape.cols,   shape};
  };
  run_once(device(),
           BoundCopy{{tile(0, 6, {2, 3}), tile(0, 0, {0, 3}), tile(0, 0, {5, 0}), tile(6, 0, {3, 2})}});
  EXPECT_EQ(target.read(), (std::vector<float>{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}));
}

TEST_P(DeviceConformance, CopiesColumnsOfAOneColumnMatrix) {
  const DeviceArray<float> source(device(), counted(9));
  const DeviceArray<float> target(device(), std::vector<float>(3));
  run_once(
      device(),
      BoundCopy{{BoundTile{source.data() + 1, DType::kFp32, 3, target.data(), DType::kFp32, 1, {3, 1}}}});
  EXPECT_EQ(target.read(), (std::vector<float>{2, 5, 8}));
}

TEST_P(DeviceConformance, RoundsToBf16ToNearestTiesToEven) {
  const float infinity = std::numeric_limits<float>::infinity();
  // 1 + 2^-8 is a tie between 1 and 1 + 2^-7, 1 + 3 * 2^-8 one between 1 + 2^-7 and 1 + 2^-6.
  const std::vector<float> values = {
      1.0F,         1.00390625F, 1.01171875F, 1.00390637F,
      -1.00390625F, 0.0F,        -0.0F,       std::numeric_limits<float>::max(),
      infinity,     -infinity,   1e-40F};
  const DeviceArray<float> source(device(), values);
  const DeviceArray<std::uint16_t> narrow(device(), std::vector<std::uint16_t>(values.size()));
  const DeviceArray<float> back(device(), std::vector<float>(values.size()));
  const auto n = source.size();
  run_once(device(),
           BoundCopy{{BoundTile{source.data(), DType::kFp32, n, narrow.data(), DType::kBf16, n, {1, n}}}});
  run_once(device(),
           BoundCopy{{BoundTile{narrow.data(), DType::kBf16, n, back.data(), DType::kFp32, n, {1, n}}}});
  EXPECT_EQ(bits(back.read()), bits({1.0F, 1.0F, 1.015625F, 1.0078125F, -1.0F, 0.0F, -0.0F, infinity,
                                     infinity, -infinity, std::bit_cast<float>(0x00010000U)}));
}

TEST_P(DeviceConformance, KeepsNaNInBf16) {
  // The payload's upper half is empty: truncating it would make an infinity.
  const std::vector<float> values(40, std::bit_cast<float>(0x7f800001U));
  const DeviceArray<float> source(device(), values);
  const DeviceArray<std::uint16_t> narrow(device(), std::vector<std::uint16_t>(40));
  const DeviceArray<float> back(device(), std::vector<float>(40));
  run_once(device(),
           BoundCopy{{BoundTile{source.data(), DType::kFp32, 40, narrow.data(), DType::kBf16, 40, {1, 40}}}});
  run_once(device(),
           BoundCopy{{BoundTile{narrow.data(), DType::kBf16, 40, back.data(), DType::kFp32, 40, {1, 40}}}});
  for (const float value : back.read()) EXPECT_TRUE(std::isnan(value));
}

TEST_P(DeviceConformance, CopiesBf16BetweenStrides) {
  const DeviceArray<std::uint16_t> source(device(), {1, 2, 3, 4, 5, 6});
  const DeviceArray<std::uint16_t> target(device(), {9, 9, 9, 9, 9});
  run_once(
      device(),
      BoundCopy{{BoundTile{source.data() + 1, DType::kBf16, 3, target.data(), DType::kBf16, 3, {2, 2}}}});
  EXPECT_EQ(target.read(), (std::vector<std::uint16_t>{2, 3, 9, 5, 6}));
}

TEST_P(DeviceConformance, FillsRegionsWithZeroAndNothingElse) {
  const DeviceArray<float> array(device(), std::vector<float>(10, kNaN));
  run_once(device(),
           BoundZeroFill{
               {{array.data() + 1, Bytes(8)}, {array.data() + 5, Bytes(0)}, {array.data() + 9, Bytes(4)}}});
  const std::vector<float> values = array.read();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool filled = i == 1 || i == 2 || i == 9;
    EXPECT_EQ(std::isnan(values[i]), !filled) << i;
    EXPECT_TRUE(!filled || values[i] == 0.0F) << i;
  }
}

TEST_P(DeviceConformance, FillsWithTheNormalNumbersOfTheirRowsAndColumns) {
  // A piece of a matrix: element (r, c) is that of row 7 + r and column 1000 + c, tails included.
  constexpr std::int64_t kRows = 5, kCols = 301;
  std::vector<float> expected(kRows * kCols);
  for (std::int64_t r = 0; r < kRows; ++r)
    fill_normal_row(99, 7 + r, 1000, 0.02, {expected.data() + r * kCols, kCols});
  const DeviceArray<float> wide(device(), std::vector<float>(kRows * kCols + 1, kNaN));
  device().fill({wide.data(), DType::kFp32, kRows, kCols, 99, 7, 1000, 0.02});
  std::vector<float> filled = wide.read();
  EXPECT_TRUE(std::isnan(filled.back()));
  filled.pop_back();
  EXPECT_EQ(bits(filled), bits(expected));

  const DeviceArray<std::uint16_t> narrow(device(), std::vector<std::uint16_t>(kRows * kCols, 0x7fc0U));
  device().fill({narrow.data(), DType::kBf16, kRows, kCols, 99, 7, 1000, 0.02});
  std::vector<std::uint16_t> rounded(expected.size());
  std::transform(expected.begin(), expected.end(), rounded.begin(),
                 [](float v) { return bf16_from_fp32(v); });
  EXPECT_EQ(narrow.read(), rounded);
}

}  // namespace
}  // namespace muonbench
