// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
//
// Newton-Schulz on the CPU against its bare BLAS products, both measured in turn in one run:
//   ns_bench [ROWSxCOLS]...    default: 1024x4096 4096x1024 1024x1024
// One JSON object on standard output: medians in seconds, and how much longer NS takes than its products.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <cblas.h>
#include <nlohmann/json.hpp>

#include "src/backend/cpu/blas_info.h"
#include "src/backend/select.h"
#include "src/base/error.h"
#include "src/base/text.h"
#include "src/ns/coefficients.h"
#include "src/ns/schedule.h"

namespace muonbench {
namespace {

constexpr int kSamples = 5;

struct Variant {
  const char* name;
  NsAlgorithm algorithm;
  MatmulPrecision precision;
};
constexpr std::array kVariants = {Variant{"gemm, highest", NsAlgorithm::kGemm, MatmulPrecision::kHighest},
                                  Variant{"syrk, highest", NsAlgorithm::kSyrk, MatmulPrecision::kHighest},
                                  Variant{"gemm, medium", NsAlgorithm::kGemm, MatmulPrecision::kMedium},
                                  Variant{"syrk, medium", NsAlgorithm::kSyrk, MatmulPrecision::kMedium}};

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Shape parse_shape(std::string_view word) {
  Shape shape;
  const char* end = word.data() + word.size();
  const auto rows = std::from_chars(word.data(), end, shape.rows);
  if (rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x') {
    const auto cols = std::from_chars(rows.ptr + 1, end, shape.cols);
    if (cols.ec == std::errc() && cols.ptr == end && shape.rows > 0 && shape.cols > 0) return shape;
  }
  throw ConfigError(text("expected ROWSxCOLS, got '{}'", word));
}

/// One matrix on the device, and what its NS multiplies, in memory of the same size and place.
class Subject {
 public:
  Subject(Device& device, Shape shape)
      : shape_(shape),
        matrix_(device.allocate(bytes_of(shape.elements(), DType::kFp32), MemoryUse::kExchange)),
        result_(device.allocate(bytes_of(shape.elements(), DType::kFp32), MemoryUse::kExchange)),
        scratch_(
            device.allocate(bytes_of(ns_scratch_layout(shape).total, DType::kFp32), MemoryUse::kNsScratch)) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    std::generate_n(static_cast<float*>(matrix_.data()), shape.elements().value(),
                    [&] { return normal(generator); });
  }

  [[nodiscard]] std::unique_ptr<Kernel> prepare_ns(Device& device, const NsOptions& options) const {
    const auto* in = static_cast<const float*>(matrix_.data());
    return device.prepare(
        BoundNewtonSchulz{shape_, {{in, static_cast<float*>(result_.data())}}, scratch_.data(), options});
  }

  /// The products of one NS step and nothing else.
  void multiply_step(NsAlgorithm algorithm) const {
    const NsScratchLayout layout = ns_scratch_layout(shape_);
    auto* scratch = static_cast<float*>(scratch_.data());
    const auto* x = static_cast<const float*>(matrix_.data());
    auto* next = static_cast<float*>(result_.data());
    float* gram = scratch + layout.gram.value();
    float* poly = scratch + layout.poly.value();
    const int rows = static_cast<int>(shape_.rows), cols = static_cast<int>(shape_.cols);
    const int m = std::min(rows, cols), n = std::max(rows, cols);
    const bool tall = rows > cols;
    const auto transposed = tall ? CblasTrans : CblasNoTrans;
    if (algorithm == NsAlgorithm::kSyrk) {
      cblas_ssyrk(CblasRowMajor, CblasUpper, transposed, m, n, 1, x, cols, 0, gram, m);
      cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, m, m, 1, gram, m, 0, poly, m);
    } else {
      cblas_sgemm(CblasRowMajor, transposed, tall ? CblasNoTrans : CblasTrans, m, m, n, 1, x, cols, x, cols,
                  0, gram, m);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1, gram, m, gram, m, 0, poly, m);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, m, 1, tall ? x : poly, tall ? cols : m,
                tall ? poly : x, cols, 0, next, cols);
  }

 private:
  Shape shape_;
  Buffer matrix_, result_, scratch_;
};

nlohmann::ordered_json measure(Device& device, Shape shape, const Variant& variant) {
  const Subject subject(device, shape);
  const NsOptions options{.steps = resolve_schedule("quintic", 5),
                          .precision = variant.precision,
                          .algorithm = variant.algorithm};
  const auto kernel = subject.prepare_ns(device, options);
  const Queue queue = device.make_queue();
  std::vector<double> ns, products;
  // In turn, so that a change in the machine's speed meets both alike. The first round warms up.
  for (int round = 0; round <= kSamples; ++round) {
    const double ns_seconds = seconds([&] {
      kernel->enqueue(queue, {});
      device.synchronize(queue);
    });
    const double product_seconds = seconds([&] {
      for (std::size_t step = 0; step < options.steps.size(); ++step)
        subject.multiply_step(variant.algorithm);
    });
    if (round == 0) continue;
    ns.push_back(ns_seconds);
    products.push_back(product_seconds);
  }
  return {{"rows", shape.rows},
          {"cols", shape.cols},
          {"variant", variant.name},
          {"samples", kSamples},
          {"ns_seconds_p50", median(ns)},
          {"products_seconds_p50", median(products)},
          {"ns_over_products", median(ns) / median(products)},
          {"ns_flops_per_second", static_cast<double>(ns_flops(shape, options)) / median(ns)}};
}

int run(const std::vector<std::string_view>& words) {
  std::vector<Shape> shapes;
  for (const std::string_view word : words) shapes.push_back(parse_shape(word));
  if (shapes.empty()) shapes = {{1024, 4096}, {4096, 1024}, {1024, 1024}};
  const auto device = make_device("cpu", 0);
  auto results = nlohmann::ordered_json::array();
  for (const Shape shape : shapes)
    for (const Variant& variant : kVariants) results.push_back(measure(*device, shape, variant));
  const nlohmann::ordered_json report = {
      {"blas", blas_version()}, {"blas_threads", blas_threads()}, {"results", results}};
  std::puts(report.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace muonbench

int main(int argc, char** argv) {
  try {
    return muonbench::run({argv + 1, argv + argc});
  } catch (const muonbench::Error& error) {
    std::fprintf(stderr, "ns_bench: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
