// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// NS of matrices that are cut into slices, whose sums the test makes: what ranks of a group would do.
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tests/conformance/ns_runner.h"

#include "src/base/error.h"
#include "src/ns/ns_slice.h"

namespace muonbench {
namespace {

using reference::Arithmetic;
using reference::relative_error;

/// Consecutive rows (side kColumns) or columns (side kRows) of a batch of matrices, on a device.
class Slices {
 public:
  Slices(Device& device, const std::vector<HostMatrix>& matrices, GramSide side, Range cut,
         const NsOptions& options)
      : device_(device),
        matrix_(matrices.front().shape),
        slice_{side == GramSide::kRows ? Shape{matrix_.rows, cut.count} : Shape{cut.count, matrix_.cols},
               side},
        first_row_(side == GramSide::kRows ? 0 : cut.begin),
        first_col_(side == GramSide::kRows ? cut.begin : 0),
        options_(options),
        layout_(ns_scratch_layout(slice_)),
        sums_(device, std::vector<float>(matrices.size(), std::numeric_limits<float>::quiet_NaN())),
        scratch_(device, std::vector<float>(static_cast<std::size_t>(layout_.total.value()) * matrices.size(),
                                            std::numeric_limits<float>::quiet_NaN())) {
    for (const HostMatrix& matrix : matrices) {
      std::vector<float> mine;
      for_each_cell([&](std::int64_t row, std::int64_t col) {
        mine.push_back(matrix.values[static_cast<std::size_t>(row * matrix_.cols + col)]);
      });
      data_.emplace_back(device, mine);
    }
  }

  void run(NsPart part, int step = 0) {
    BoundNsSlice work{part, step, slice_, matrix_, {}, sums_.data(), scratch_.data(), options_};
    for (const DeviceArray<float>& one : data_) work.data.push_back(one.data());
    run_once(device_, std::move(work));
  }
  [[nodiscard]] DeviceArray<float>& sums() { return sums_; }
  [[nodiscard]] std::vector<float> gram(std::size_t i) const {
    std::vector<float> numbers(gram_elements());
    std::vector<std::uint16_t> halves(gram_elements());
    switch (options_.storage) {
      case DType::kFp32: device_.download(numbers.data(), gram_at(i), gram_bytes()); break;
      case DType::kBf16:
        device_.download(halves.data(), gram_at(i), gram_bytes());
        for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = fp32_from_bf16(halves[k]);
        break;
    }
    return numbers;
  }
  void set_gram(std::size_t i, const std::vector<float>& numbers) {
    std::vector<std::uint16_t> halves;
    switch (options_.storage) {
      case DType::kFp32: device_.upload(gram_at(i), numbers.data(), gram_bytes()); break;
      case DType::kBf16:
        for (const float number : numbers) halves.push_back(bf16_from_fp32(number));
        device_.upload(gram_at(i), halves.data(), gram_bytes());
        break;
    }
  }
  void put_into(std::vector<HostMatrix>& matrices) const {
    for (std::size_t i = 0; i < data_.size(); ++i) {
      const std::vector<float> mine = data_[i].read();
      std::size_t k = 0;
      for_each_cell([&](std::int64_t row, std::int64_t col) {
        matrices[i].values[static_cast<std::size_t>(row * matrix_.cols + col)] = mine[k++];
      });
    }
  }

 private:
  template <class Visit>
  void for_each_cell(const Visit& visit) const {
    for (std::int64_t row = 0; row < slice_.shape.rows; ++row)
      for (std::int64_t col = 0; col < slice_.shape.cols; ++col) visit(first_row_ + row, first_col_ + col);
  }
  [[nodiscard]] std::size_t gram_elements() const {
    return static_cast<std::size_t>(slice_.gram_side() * slice_.gram_side());
  }
  [[nodiscard]] Bytes gram_bytes() const {
    return bytes_of(Elements(slice_.gram_side() * slice_.gram_side()), options_.storage);
  }
  [[nodiscard]] void* gram_at(std::size_t i) const {
    const Elements offset = layout_.total * static_cast<std::int64_t>(i) + layout_.gram;
    return static_cast<std::byte*>(static_cast<void*>(scratch_.data())) +
           bytes_of(offset, options_.storage).value();
  }

  Device& device_;
  Shape matrix_;
  NsSlice slice_;
  std::int64_t first_row_, first_col_;
  NsOptions options_;
  NsScratchLayout layout_;
  DeviceArray<float> sums_, scratch_;
  std::vector<DeviceArray<float>> data_;
};

/// What `get` finds in all slices becomes its sum, each addition rounded to `dtype`.
template <class Get, class Set>
void add_up(std::vector<std::unique_ptr<Slices>>& slices, const Get& get, const Set& set, DType dtype) {
  std::vector<float> sum = get(*slices.front());
  for (std::size_t s = 1; s < slices.size(); ++s) {
    const std::vector<float> more = get(*slices[s]);
    for (std::size_t k = 0; k < sum.size(); ++k) {
      sum[k] += more[k];
      if (dtype == DType::kBf16) sum[k] = round_to_bf16(sum[k]);
    }
  }
  for (const auto& one : slices) set(*one, sum);
}

/// NS of equally shaped matrices cut at `cuts` along the dim that `side` does not name.
std::vector<HostMatrix> orthogonalized_in_slices(Device& device, std::vector<HostMatrix> matrices,
                                                 GramSide side, const std::vector<std::int64_t>& cuts,
                                                 const NsOptions& options) {
  std::vector<std::unique_ptr<Slices>> slices;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    slices.push_back(
        std::make_unique<Slices>(device, matrices, side, Range{cuts[i], cuts[i + 1] - cuts[i]}, options));
  const DType travels_as = options.precision == MatmulPrecision::kMedium ? DType::kBf16 : DType::kFp32;
  for (const auto& one : slices) one->run(NsPart::kSumOfSquares);
  add_up(
      slices, [](Slices& one) { return one.sums().read(); },
      [](Slices& one, const std::vector<float>& sum) { one.sums().write(sum); }, DType::kFp32);
  for (const auto& one : slices) one->run(NsPart::kNormalise);
  for (int step = 0; step < std::ssize(options.steps); ++step) {
    for (const auto& one : slices) one->run(NsPart::kGram, step);
    for (std::size_t i = 0; i < matrices.size(); ++i)
      add_up(
          slices, [i](Slices& one) { return one.gram(i); },
          [i](Slices& one, const std::vector<float>& sum) { one.set_gram(i, sum); }, travels_as);
    for (const auto& one : slices) one->run(NsPart::kStep, step);
  }
  for (const auto& one : slices) {
    one->run(NsPart::kScaleOut);
    one->put_into(matrices);
  }
  return matrices;
}

/// In one piece, and in three of unequal size.
std::vector<std::vector<std::int64_t>> ways_to_cut(Shape shape, GramSide side) {
  const std::int64_t n = side == GramSide::kRows ? shape.cols : shape.rows;
  std::vector<std::vector<std::int64_t>> ways = {{0, n}};
  if (n >= 3) ways.push_back({0, 1, n - n / 3, n});
  return ways;
}

constexpr GramSide kSides[] = {GramSide::kRows, GramSide::kColumns};

TEST_P(DeviceConformance, SlicesOfWhicheverSideMakeUpTheExactMatrix) {
  for (const NsCoefficients step : {NsCoefficients{2.0, -1.5, 0.5}, NsCoefficients{1.5, -0.5, 0.0}}) {
    for (const NsOptions& base : supported(device(), ns_options(step, MatmulPrecision::kHighest))) {
      const NsOptions options = for_device(device(), base);
      for (const Shape shape : kExactNsShapes) {
        if (shape.max_dim() > 64) continue;  // squares on the longer side would be all the test does
        const std::vector<HostMatrix> in = {random_signs(shape, 13), random_signs(shape, 14)};
        for (const GramSide side : kSides) {
          for (const auto& cuts : ways_to_cut(shape, side)) {
            const auto out = orthogonalized_in_slices(device(), in, side, cuts, options);
            for (std::size_t i = 0; i < in.size(); ++i)
              EXPECT_EQ(as_reference(out[i]).values, expected(in[i], options, Arithmetic::kExact).values)
                  << shape.rows << " x " << shape.cols << " in " << cuts.size() - 1 << ", c " << step.c;
          }
        }
      }
    }
  }
}

TEST_P(DeviceConformance, SlicesMakeUpThePolynomialOfTheMatrix) {
  for (const NsOptions& base : supported(device(), ns_options("quintic", 5, MatmulPrecision::kHighest))) {
    const NsOptions options = for_device(device(), base);
    for (const Shape shape : kNsShapes) {
      const std::vector<HostMatrix> in = {random_matrix(shape, 11), times(random_matrix(shape, 12), 1e3F)};
      for (const GramSide side : kSides) {
        for (const auto& cuts : ways_to_cut(shape, side)) {
          const auto out = orthogonalized_in_slices(device(), in, side, cuts, options);
          for (std::size_t i = 0; i < in.size(); ++i)
            EXPECT_LT(relative_error(as_reference(out[i]), expected(in[i], options, Arithmetic::kExact)),
                      kFp32Error)
                << shape.rows << " x " << shape.cols << " in " << cuts.size() - 1;
        }
      }
    }
  }
}

TEST_P(DeviceConformance, SlicesInMediumAreNearlyAsCloseAsTheMatrixInMedium) {
  for (const NsOptions& base : supported(device(), ns_options("quintic", 5, MatmulPrecision::kMedium))) {
    const NsOptions options = for_device(device(), base);
    for (const Shape shape : kNsShapes) {
      const HostMatrix in = random_matrix(shape, 15);
      const reference::Matrix exact = expected(in, options, Arithmetic::kExact);
      const double oracle = relative_error(expected(in, options, Arithmetic::kBf16), exact);
      for (const GramSide side : kSides) {
        for (const auto& cuts : ways_to_cut(shape, side)) {
          const auto out = orthogonalized_in_slices(device(), {in}, side, cuts, options);
          // Each Gram matrix is rounded once for each slice and once for each addition, where the oracle
          // rounds once: up to five times its error with three slices, and 2^-8 where it is exact by luck.
          EXPECT_LT(relative_error(as_reference(out.front()), exact), 5 * oracle + 0x1p-8)
              << shape.rows << " x " << shape.cols << " in " << cuts.size() - 1;
        }
      }
    }
  }
}

TEST_P(DeviceConformance, SlicesAreScaledByTheShapeOfTheMatrix) {
  const HostMatrix in = random_matrix({24, 16}, 18);
  NsOptions options = for_device(device(), ns_options("quintic", 5, MatmulPrecision::kHighest));
  const std::vector<std::int64_t> cuts = {0, 6, 24};
  const auto unscaled = [&] {
    NsOptions plain = options;
    plain.scale_mode = ScaleMode::kSpectral;
    return orthogonalized_in_slices(device(), {in}, GramSide::kColumns, cuts, plain).front();
  }();
  options.extra_scale_factor = 0.25;
  options.scale_mode = ScaleMode::kUnitRmsNorm;
  const auto out = orthogonalized_in_slices(device(), {in}, GramSide::kColumns, cuts, options).front();
  for (std::size_t k = 0; k < out.values.size(); ++k)  // a few roundings of 2^-24 apart
    EXPECT_NEAR(out.values[k], unscaled.values[k] / std::sqrt(24.0) * std::sqrt(24.0 / 16.0) * 0.25,
                std::abs(out.values[k]) * 1e-6);
}

TEST_P(DeviceConformance, SlicesOfZerosStayZeroAndOneValueThatIsNotFiniteMakesAllNaN) {
  for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
    const NsOptions options = for_device(device(), ns_options("quintic", 5, precision));
    const std::vector<std::int64_t> cuts = {0, 3, 9};
    const HostMatrix zeros = constant_matrix({9, 7}, 0.0F);
    for (const HostMatrix& out :
         orthogonalized_in_slices(device(), {zeros, zeros}, GramSide::kColumns, cuts, options))
      EXPECT_EQ(out.values, zeros.values);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      HostMatrix spoilt = random_matrix({9, 7}, 3);
      spoilt.values[60] = bad;  // in the second slice
      const auto out = orthogonalized_in_slices(device(), {spoilt}, GramSide::kColumns, cuts, options);
      for (const float value : out.front().values) EXPECT_TRUE(std::isnan(value)) << value << " of " << bad;
    }
  }
}

TEST_P(DeviceConformance, GramMatricesUnderSyrkAreTheirTransposesBitForBit) {
  if (!device().capabilities().syrk) GTEST_SKIP() << "no syrk";
  // By halves, mirrored whole, and over more than one tile.
  for (const Shape shape : {Shape{24, 40}, Shape{33, 7}, Shape{7, 33}, Shape{200, 328}, Shape{328, 200}})
    for (const MatmulPrecision precision : {MatmulPrecision::kHighest, MatmulPrecision::kMedium}) {
      NsOptions options = for_device(device(), ns_options("quintic", 5, precision));
      options.algorithm = NsAlgorithm::kSyrk;
      const GramSide side = whole_slice(shape).side;
      Slices slices(device(), {random_matrix(shape, 31)}, side,
                    {0, side == GramSide::kRows ? shape.cols : shape.rows}, options);
      for (const NsPart part : {NsPart::kSumOfSquares, NsPart::kNormalise, NsPart::kGram}) slices.run(part);
      const std::vector<float> gram = slices.gram(0);
      const auto m = static_cast<std::size_t>(shape.min_dim());
      for (std::size_t row = 0; row < m; ++row)
        for (std::size_t column = 0; column < row; ++column)
          ASSERT_EQ(gram[row * m + column], gram[column * m + row]) << shape.rows << " x " << shape.cols;
      EXPECT_NE(gram[1], gram[0]);
    }
}

TEST_P(DeviceConformance, SlicesRefuseWhatCapabilitiesDoNotList) {
  const DeviceArray<float> memory(device(), std::vector<float>(1000));
  const auto prepare = [&](MatmulPrecision precision, NsAlgorithm algorithm) {
    NsOptions options = for_device(device(), ns_options("quintic", 5, precision));
    options.algorithm = algorithm;
    static_cast<void>(device().prepare(BoundNsSlice{NsPart::kGram,
                                                    0,
                                                    {{8, 8}, GramSide::kRows},
                                                    {8, 8},
                                                    {memory.data()},
                                                    memory.data(),
                                                    memory.data() + 64,
                                                    options}));
  };
  EXPECT_NO_THROW(prepare(MatmulPrecision::kHighest, NsAlgorithm::kGemm));
  if (!device().capabilities().tf32) {
    EXPECT_THROW(prepare(MatmulPrecision::kHigh, NsAlgorithm::kGemm), RuntimeFailure);
  }
  if (!device().capabilities().syrk) {
    EXPECT_THROW(prepare(MatmulPrecision::kHighest, NsAlgorithm::kSyrk), RuntimeFailure);
  }
  EXPECT_THROW(prepare(MatmulPrecision::kHighest, NsAlgorithm::kGram), RuntimeFailure);
}

}  // namespace
}  // namespace muonbench
