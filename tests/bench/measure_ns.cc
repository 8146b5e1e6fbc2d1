// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "tests/bench/gemm_only.h"
#include "tests/bench/measures.h"
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/ns/coefficients.h"
#include "src/ns/schedule.h"

namespace muonbench {
namespace {

// What the bound allows beside the products, and the bytes per element that the rest moves at least: fp32
// read for the norm, read again and written in bf16, bf16 read and written in fp32.
constexpr double kProductsAllowance = 1.02, kBytesAllowance = 1.15, kBytesPerElement = 16.0;
constexpr double kLaunchTargetSeconds = 0.163e-3;

NsOptions options(NsAlgorithm algorithm = NsAlgorithm::kGemm) {
  NsOptions options;
  options.algorithm = algorithm;
  options.steps = resolve_schedule("quintic", 5);
  options.storage = DType::kBf16;
  options.batching = NsBatching::kTogether;
  return options;
}

/// So many inputs and outputs that a run does not find its own in the cache.
int sets_for(NsShape shape) {
  constexpr std::int64_t kBeyondCache = std::int64_t{192} << 20U;
  const std::int64_t one = 2 * bytes_of(shape.matrix.elements() * shape.batch, DType::kFp32).value();
  return static_cast<int>(std::clamp<std::int64_t>(kBeyondCache / one, 1, 16));
}

/// NS of a batch, `sets` times, in memory of its own each.
class Subject {
 public:
  Subject(Device& device, NsShape shape, int sets, NsAlgorithm algorithm = NsAlgorithm::kGemm)
      : device_(device), shape_(shape), algorithm_(algorithm) {
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (int set = 0; set < sets; ++set) kernels.push_back(prepare_set(static_cast<std::uint64_t>(set) + 1));
    loop_ = std::make_unique<KernelLoop>(device, std::move(kernels));
  }

  [[nodiscard]] double run(int runs) { return (*loop_)(runs); }
  [[nodiscard]] double run_one_by_one(int runs) { return loop_->one_by_one(runs); }

  /// Figures of a kernel that wrote nothing, or nonsense, are worth nothing.
  void check_output() const {
    const Buffer& out = buffers_[1];
    std::vector<float> host(static_cast<std::size_t>(shape_.matrix.elements().value()));
    device_.download(host.data(), out.data(), bytes_of(shape_.matrix.elements(), DType::kFp32));
    double squares = 0.0;
    for (const float value : host) squares += static_cast<double>(value) * value;
    // Singular values end near 1, and are then scaled.
    const double scale = scale_factor(ScaleMode::kSpectral, shape_.matrix);
    const double per_value = squares / static_cast<double>(shape_.matrix.min_dim()) / (scale * scale);
    if (!(per_value > 0.25 && per_value < 2.0))
      throw RuntimeFailure(
          text("Newton-Schulz of {} x {} x {}: expected singular values near 1, got a mean "
               "square of {}",
               shape_.batch, shape_.matrix.rows, shape_.matrix.cols, per_value));
  }

 private:
  std::unique_ptr<Kernel> prepare_set(std::uint64_t seed) {
    const Elements elements = shape_.matrix.elements() * shape_.batch;
    const Shape all{shape_.matrix.rows * shape_.batch, shape_.matrix.cols};
    const auto* in = static_cast<const float*>(
        buffers_.emplace_back(random_array(device_, all, DType::kFp32, seed)).data());
    auto* out = static_cast<float*>(add(bytes_of(elements, DType::kFp32)).data());
    BoundNewtonSchulz work{shape_.matrix, {}, nullptr, options(algorithm_)};
    work.scratch = add(bytes_of(ns_scratch_elements(shape_, work.options), work.options.storage)).data();
    for (int i = 0; i < shape_.batch; ++i) {
      const std::int64_t offset = shape_.matrix.elements().value() * i;
      work.items.emplace_back(in + offset, out + offset);
    }
    return device_.prepare(std::move(work));
  }
  const Buffer& add(Bytes size) {
    return buffers_.emplace_back(device_.allocate(size, MemoryUse::kNsScratch));
  }
  Device& device_;
  NsShape shape_;
  NsAlgorithm algorithm_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<KernelLoop> loop_;
};

Contender gemm_only(Device& device, NsShape shape, GemmLibrary library, int sets) {
  const int steps = static_cast<int>(options().steps.size());
  const auto products = std::make_shared<GemmOnly>(device, shape, steps, library, sets);
  return {std::string(name_of(library)), [products](int runs) { return (*products)(runs); }};
}

nlohmann::ordered_json measure_shape(Device& device, NsShape shape, double copy, Effort effort) {
  const int sets = sets_for(shape);
  Subject subject(device, shape, sets);
  const std::vector<Timing> timings =
      in_turn({{"newton_schulz", [&subject](int runs) { return subject.run(runs); }},
               gemm_only(device, shape, GemmLibrary::kLt, sets),
               gemm_only(device, shape, GemmLibrary::kStridedBatched, sets)},
              effort);
  subject.check_output();
  const Elements elements = shape.matrix.elements() * shape.batch;
  const double ns = timings[0].p50, products = std::min(timings[1].p50, timings[2].p50);
  const double bound = kProductsAllowance * products +
                       kBytesAllowance * kBytesPerElement * static_cast<double>(elements.value()) / copy;
  const double flops = static_cast<double>(ns_flops(shape.matrix, options())) * shape.batch;
  return {{"batch", shape.batch},
          {"rows", shape.matrix.rows},
          {"cols", shape.matrix.cols},
          {"sets", sets},
          {"ns_seconds", to_json(timings[0])},
          {"gemm_only_lt_seconds", to_json(timings[1])},
          {"gemm_only_strided_batched_seconds", to_json(timings[2])},
          {"gemm_only_seconds", products},
          {"bound_seconds", bound},
          {"ns_over_bound", ns / bound},
          {"ns_over_gemm_only", ns / products},
          {"ns_tflops", flops / ns * 1e-12},
          {"gemm_only_tflops", flops / products * 1e-12}};
}

nlohmann::ordered_json compare_algorithms(Device& device, NsShape shape, Effort effort) {
  using enum NsAlgorithm;
  const int sets = sets_for(shape);
  Subject gemm(device, shape, sets), syrk(device, shape, sets, kSyrk), gram(device, shape, sets, kGram);
  const std::vector<Timing> timings = in_turn({{"gemm", [&gemm](int runs) { return gemm.run(runs); }},
                                               {"syrk", [&syrk](int runs) { return syrk.run(runs); }},
                                               {"gram", [&gram](int runs) { return gram.run(runs); }}},
                                              effort);
  for (const Subject* subject : {&gemm, &syrk, &gram}) subject->check_output();
  const auto tflops = [&](NsAlgorithm algorithm, const Timing& timing) {
    return static_cast<double>(ns_flops(shape.matrix, options(algorithm))) * shape.batch / timing.p50 * 1e-12;
  };
  return {{"batch", shape.batch},
          {"rows", shape.matrix.rows},
          {"cols", shape.matrix.cols},
          {"sets", sets},
          {"gemm_seconds", to_json(timings[0])},
          {"syrk_seconds", to_json(timings[1])},
          {"gram_seconds", to_json(timings[2])},
          {"gemm_over_syrk", timings[0].p50 / timings[1].p50},
          {"gemm_over_gram", timings[0].p50 / timings[2].p50},
          {"gemm_tflops", tflops(kGemm, timings[0])},
          {"syrk_tflops", tflops(kSyrk, timings[1])},
          {"gram_tflops", tflops(kGram, timings[2])},
          {"syrk_gemm_equivalent_tflops", tflops(kGemm, timings[1])},
          {"gram_gemm_equivalent_tflops", tflops(kGemm, timings[2])}};
}

}  // namespace

nlohmann::ordered_json measure_algorithms(Device& device, const std::vector<NsShape>& shapes, Effort effort) {
  if (!device.capabilities().syrk || !device.capabilities().gram)
    throw RuntimeFailure(text("{} has no symmetric products", device.capabilities().device_name));
  auto rows = nlohmann::ordered_json::array();
  for (const NsShape& shape : shapes) rows.push_back(compare_algorithms(device, shape, effort));
  return {{"rows", std::move(rows)}};
}

nlohmann::ordered_json measure_ns(Device& device, const std::vector<NsShape>& shapes, Effort effort) {
  const double copy = copy_rate(device, effort);
  auto rows = nlohmann::ordered_json::array();
  for (const NsShape& shape : shapes) rows.push_back(measure_shape(device, shape, copy, effort));
  return {{"copy_bytes_per_second", copy}, {"rows", std::move(rows)}};
}

nlohmann::ordered_json measure_launch(Device& device, Effort effort) {
  constexpr NsShape kSmall{{2048, 768}, 1};
  const int sets = sets_for(kSmall);
  Subject subject(device, kSmall, sets);
  const std::vector<Timing> timings =
      in_turn({{"back to back", [&subject](int runs) { return subject.run(runs); }},
               {"one by one", [&subject](int runs) { return subject.run_one_by_one(runs); }},
               gemm_only(device, kSmall, GemmLibrary::kLt, sets),
               gemm_only(device, kSmall, GemmLibrary::kStridedBatched, sets)},
              effort);
  subject.check_output();
  return {{"rows", kSmall.matrix.rows},
          {"cols", kSmall.matrix.cols},
          {"sets", sets},
          {"back_to_back_seconds", to_json(timings[0])},
          {"one_by_one_seconds", to_json(timings[1])},
          {"gemm_only_lt_seconds", to_json(timings[2])},
          {"gemm_only_strided_batched_seconds", to_json(timings[3])},
          {"target_seconds", kLaunchTargetSeconds}};
}

}  // namespace muonbench
