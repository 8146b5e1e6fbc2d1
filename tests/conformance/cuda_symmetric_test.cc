// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/conformance/device_array.h"
#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_device.h"
#include "src/backend/cuda/symmetric_matmul.h"
#include "src/base/error.h"

namespace muonbench::cuda {
namespace {

/// 16-bit numbers as their bits.
using Bits = std::vector<std::uint16_t>;

/// bf16's upper half of an fp32 number; of fp16 what is left of one that it holds exactly: 5 bits of
/// exponent, 10 more.
std::uint16_t bits_of(float value, Number number = Number::kBf16) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (number == Number::kBf16) return static_cast<std::uint16_t>(bits >> 16U);
  if ((bits & 0x7FFFFFFFU) == 0) return static_cast<std::uint16_t>(bits >> 16U);
  constexpr std::uint32_t kBetweenBiases = (127U - 15U) << 10U;
  const std::uint32_t magnitude = ((bits & 0x7FFFFFFFU) >> 13U) - kBetweenBiases;
  return static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | magnitude);
}

/// Integers of -1, 0 and 1 mostly 0: sums over some thousands stay below 256, which bf16 holds exactly.
std::vector<int> few_signs(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<int> values(static_cast<std::size_t>(count));
  for (int& value : values) {
    const unsigned draw = engine() % 32;
    value = draw == 0 ? 1 : draw == 1 ? -1 : 0;
  }
  return values;
}

class CudaSymmetric : public testing::Test {
 protected:
  CudaSymmetric() : device_(0), queue_(device_.make_queue()), symmetric_(device_) {}
  void SetUp() override {
    if (!device_.capabilities().syrk) GTEST_SKIP() << "no symmetric products";
  }

  /// alpha X X^T + beta C, or alpha X^T X + beta C, of integers, against the exact sums: in every element,
  /// and outside of the matrices nothing is written.
  void expect_exact(Shape shape, GramSide side, int batch, float alpha, float beta,
                    std::optional<SymmetricKernel> kernel = std::nullopt, Number number = Number::kBf16) {
    const NsSlice x{shape, side};
    const std::int64_t m = x.gram_side(), elements = shape.elements().value();
    // Gaps between matrices, as in a scratch.
    const std::int64_t stride = std::max(elements, m * m) + 64;
    const std::vector<int> in = few_signs(stride * batch, 3);
    std::vector<int> addend = few_signs(stride * batch, 4);
    for (int matrix = 0; matrix < batch; ++matrix)
      for (std::int64_t row = 0; row < m; ++row)
        for (std::int64_t column = 0; column < row; ++column)
          at(addend, stride, matrix, m, column, row) = at(addend, stride, matrix, m, row, column);
    const DeviceArray<std::uint16_t> x_memory(device_, as_bits(in, number));
    const DeviceArray<std::uint16_t> c_memory(device_, as_bits(addend, number));
    const std::uint16_t untouched = 0x7FC1;
    const DeviceArray<std::uint16_t> d_memory(device_, Bits(in.size(), untouched));
    symmetric_.enqueue(symmetric_.plan({x, stride, batch, number, kernel}),
                       {x_memory.data(), x_memory.data(), c_memory.data(), d_memory.data(), alpha, beta},
                       device_.stream(queue_));
    device_.synchronize(queue_);
    const Bits out = d_memory.read();
    std::int64_t wrong = 0;
    for (int matrix = 0; matrix < batch; ++matrix) {
      const std::vector<int> sums = gram(in, stride, matrix, x);
      for (std::int64_t i = 0; i < m * m; ++i) {
        const auto here = static_cast<std::size_t>(matrix * stride + i);
        const float expected = alpha * static_cast<float>(sums[static_cast<std::size_t>(i)]) +
                               beta * static_cast<float>(addend[here]);
        if (out[here] != bits_of(expected == 0.0F ? 0.0F : expected, number)) ++wrong;
      }
      for (std::int64_t i = m * m; i < stride; ++i)
        if (out[static_cast<std::size_t>(matrix * stride + i)] != untouched) ++wrong;
    }
    EXPECT_EQ(wrong, 0) << batch << " x " << shape.rows << " x " << shape.cols;
  }

  /// alpha X Y + beta X of circulants, which are symmetric and commute: (i, j) of each is a number of i - j
  /// alone.
  void expect_exact_of_two(std::int64_t side, int batch, SymmetricKernel kernel, Number number) {
    constexpr float kAlpha = 1.0F, kBeta = -2.0F;
    const std::int64_t stride = side * side + 64;
    std::vector<int> x(static_cast<std::size_t>(stride * batch)), y(x);
    std::vector<float> wanted(x.size());
    for (int matrix = 0; matrix < batch; ++matrix) {
      const auto seed = static_cast<unsigned>(2 * matrix);
      const std::vector<int> of_x = circulant(side, 11 + seed), of_y = circulant(side, 12 + seed);
      std::vector<int> product(static_cast<std::size_t>(side));
      for (std::int64_t i = 0; i < side; ++i)
        for (std::int64_t k = 0; k < side; ++k)
          product[static_cast<std::size_t>(i)] +=
              of_x[static_cast<std::size_t>(k)] * of_y[static_cast<std::size_t>((i + side - k) % side)];
      for (std::int64_t i = 0; i < side * side; ++i) {
        const auto at = static_cast<std::size_t>((i / side + side - i % side) % side);
        const auto here = static_cast<std::size_t>(matrix * stride + i);
        x[here] = of_x[at];
        y[here] = of_y[at];
        wanted[here] = kAlpha * static_cast<float>(product[at]) + kBeta * static_cast<float>(of_x[at]);
      }
    }
    const DeviceArray<std::uint16_t> x_memory(device_, as_bits(x, number)),
        y_memory(device_, as_bits(y, number));
    const DeviceArray<std::uint16_t> d_memory(device_, Bits(x.size()));
    symmetric_.enqueue(symmetric_.plan({{{side, side}, GramSide::kRows}, stride, batch, number, kernel}),
                       {x_memory.data(), y_memory.data(), x_memory.data(), d_memory.data(), kAlpha, kBeta},
                       device_.stream(queue_));
    device_.synchronize(queue_);
    const Bits out = d_memory.read();
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] != bits_of(wanted[i] == 0.0F ? 0.0F : wanted[i], number)) ++wrong;
    EXPECT_EQ(wrong, 0) << batch << " of side " << side;
  }

  CudaDevice device_;
  Queue queue_;
  SymmetricMatmul symmetric_;

 private:
  static std::vector<int> circulant(std::int64_t side, unsigned seed) {
    std::vector<int> values = few_signs(side, seed);
    for (std::int64_t i = 1; i < side; ++i)
      values[static_cast<std::size_t>(side - i)] = values[static_cast<std::size_t>(i)];
    values[0] = 3;
    return values;
  }
  static int& at(std::vector<int>& values, std::int64_t stride, int matrix, std::int64_t m, std::int64_t row,
                 std::int64_t column) {
    return values[static_cast<std::size_t>(matrix * stride + row * m + column)];
  }
  static Bits as_bits(const std::vector<int>& values, Number number) {
    Bits bits;
    for (const int value : values) bits.push_back(bits_of(static_cast<float>(value), number));
    return bits;
  }
  /// Over the few elements that are not 0.
  static std::vector<int> gram(const std::vector<int>& in, std::int64_t stride, int matrix,
                               const NsSlice& x) {
    const std::int64_t m = x.gram_side();
    std::vector<int> sums(static_cast<std::size_t>(m * m));
    for (std::int64_t k = 0; k < x.length(); ++k) {
      std::vector<std::pair<std::int64_t, int>> held;
      for (std::int64_t i = 0; i < m; ++i) {
        const std::int64_t element = x.side == GramSide::kRows ? i * x.shape.cols + k : k * x.shape.cols + i;
        const int value = in[static_cast<std::size_t>(matrix * stride + element)];
        if (value != 0) held.emplace_back(i, value);
      }
      for (const auto& [row, of_row] : held)
        for (const auto& [column, of_column] : held)
          sums[static_cast<std::size_t>(row * m + column)] += of_row * of_column;
    }
    return sums;
  }
};

constexpr SymmetricKernel kKernels[] = {SymmetricKernel::kInTurns, SymmetricKernel::kTogether};

TEST_F(CudaSymmetric, ProductsAreExactWhateverTheTiles) {
  // One box, part of one, edges within boxes and tiles.
  for (const SymmetricKernel kernel : kKernels)
    for (const Shape shape : {Shape{8, 8}, Shape{64, 64}, Shape{72, 200}, Shape{200, 72}, Shape{128, 1024},
                              Shape{136, 136}, Shape{264, 520}})
      for (const GramSide side : {GramSide::kRows, GramSide::kColumns})
        for (const int batch : {1, 3}) {
          expect_exact(shape, side, batch, 1.0F, 0.0F, kernel);
          expect_exact(shape, side, batch, 2.0F, -1.0F, kernel);
        }
}

TEST_F(CudaSymmetric, ProductsOfFp16AreExact) {
  for (const SymmetricKernel kernel : kKernels)
    for (const Shape shape : {Shape{8, 8}, Shape{72, 200}, Shape{200, 72}, Shape{264, 520}})
      for (const GramSide side : {GramSide::kRows, GramSide::kColumns})
        for (const int batch : {1, 3}) expect_exact(shape, side, batch, 2.0F, -1.0F, kernel, Number::kFp16);
}

TEST_F(CudaSymmetric, ProductsOfTwoThatCommuteAreExact) {
  for (const SymmetricKernel kernel : kKernels)
    for (const Number number : {Number::kBf16, Number::kFp16})
      for (const std::int64_t side : {8, 72, 264, 712, 1032})
        for (const int batch : {1, 3}) expect_exact_of_two(side, batch, kernel, number);
}

TEST_F(CudaSymmetric, ProductsAreExactWithManyTilesForEachMultiprocessor) {
  // Rings that turn over, rows of boxes of which a tile of three has nothing, tiles after tiles.
  for (const SymmetricKernel kernel : kKernels) {
    expect_exact({264, 520}, GramSide::kRows, 60, 1.0F, -1.0F, kernel);
    expect_exact({328, 72}, GramSide::kColumns, 300, 1.0F, 0.0F, kernel);
  }
}

TEST_F(CudaSymmetric, ProductsOfLargeMatricesAreExact) {
  for (const SymmetricKernel kernel : kKernels) {
    expect_exact({2056, 264}, GramSide::kRows, 1, 1.0F, -1.0F, kernel);
    expect_exact({328, 2368}, GramSide::kColumns, 2, 1.0F, 0.0F, kernel);
  }
}

TEST_F(CudaSymmetric, OneNaNIsInItsRowAndColumnAlone) {
  constexpr std::int64_t kSide = 136, kBad = 70, kLength = 72;
  for (const SymmetricKernel kernel : kKernels) {
    Bits in(static_cast<std::size_t>(kSide * kSide), bits_of(1.0F));
    in[static_cast<std::size_t>(kBad * kLength + 5)] = 0x7FC0;
    const DeviceArray<std::uint16_t> x(device_, in), d(device_, Bits(in.size()));
    symmetric_.enqueue(
        symmetric_.plan({{{kSide, kLength}, GramSide::kRows}, kSide * kSide, 1, Number::kBf16, kernel}),
        {x.data(), x.data(), nullptr, d.data()}, device_.stream(queue_));
    device_.synchronize(queue_);
    const Bits out = d.read();
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < kSide; ++row)
      for (std::int64_t column = 0; column < kSide; ++column) {
        const std::uint16_t bits = out[static_cast<std::size_t>(row * kSide + column)];
        const bool is_nan = (bits & 0x7F80U) == 0x7F80U && (bits & 0x7FU) != 0;
        if (is_nan != (row == kBad || column == kBad)) ++wrong;
      }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(CudaSymmetric, AMatrixHasTheSameBitsByEitherKernelAndInABatch) {
  // Of arbitrary numbers, whose sums round.
  constexpr int kBatch = 5;
  constexpr std::int64_t kSide = 712, kStride = kSide * kSide;
  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  Bits in(static_cast<std::size_t>(kStride * kBatch));
  for (std::uint16_t& bits : in) bits = bits_of(normal(engine));
  const DeviceArray<std::uint16_t> x(device_, in);
  for (const GramSide side : {GramSide::kRows, GramSide::kColumns}) {
    const NsSlice slice{side == GramSide::kRows ? Shape{kSide, 328} : Shape{328, kSide}, side};
    std::vector<Bits> results;
    for (const SymmetricKernel kernel : kKernels) {
      const DeviceArray<std::uint16_t> a(device_, Bits(in.size())), b(device_, Bits(in.size()));
      const SymmetricMatmul::Operands gram{x.data(), x.data(), nullptr, a.data()};
      const SymmetricMatmul::Operands poly{a.data(), a.data(), a.data(), b.data(), 2.9F, -6.9F};
      const NsSlice square{{kSide, kSide}, GramSide::kRows};
      symmetric_.enqueue(symmetric_.plan({slice, kStride, kBatch, Number::kBf16, kernel}), gram,
                         device_.stream(queue_));
      symmetric_.enqueue(symmetric_.plan({square, kStride, kBatch, Number::kBf16, kernel}), poly,
                         device_.stream(queue_));
      const DeviceArray<std::uint16_t> alone_a(device_, Bits(in.size())), alone_b(device_, Bits(in.size()));
      for (int i = 0; i < kBatch; ++i) {
        const std::int64_t at = i * kStride;
        symmetric_.enqueue(symmetric_.plan({slice, kStride, 1, Number::kBf16, kernel}),
                           {x.data() + at, x.data() + at, nullptr, alone_a.data() + at},
                           device_.stream(queue_));
        symmetric_.enqueue(
            symmetric_.plan({square, kStride, 1, Number::kBf16, kernel}),
            {alone_a.data() + at, alone_a.data() + at, alone_a.data() + at, alone_b.data() + at, 2.9F, -6.9F},
            device_.stream(queue_));
      }
      device_.synchronize(queue_);
      EXPECT_EQ(a.read(), alone_a.read());
      EXPECT_EQ(b.read(), alone_b.read());
      results.push_back(b.read());
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST_F(CudaSymmetric, RefusesRowsThatNoLoadTakes) {
  EXPECT_FALSE(SymmetricMatmul::takes({{{16, 12}, GramSide::kRows}, 1024, 1}));
  EXPECT_THROW(static_cast<void>(symmetric_.plan({{{16, 12}, GramSide::kRows}, 1024, 1})), RuntimeFailure);
}

}  // namespace
}  // namespace muonbench::cuda
