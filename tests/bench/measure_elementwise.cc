// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>
#include <string>
#include <utility>

#include "tests/bench/measures.h"
#include <nlohmann/json.hpp>

namespace muonbench {
namespace {

constexpr std::int64_t kManyElements = 134'217'728;
constexpr std::int64_t kRanks = 8;
constexpr std::int64_t kCols = 512;  // divides every size here

/// The arrays of an optimizer step, items one behind the other in each.
class Arrays {
 public:
  Arrays(Device& device, std::vector<std::int64_t> sizes) : device_(device), sizes_(std::move(sizes)) {
    for (const std::int64_t size : sizes_) elements_ += size;
    for (Buffer* array : {&gradient_, &master_, &first_, &second_})
      *array = random_array(device, {elements_ / kCols, kCols}, DType::kFp32, ++seed_);
    weight_ = device.allocate(bytes_of(Elements(elements_), DType::kBf16), MemoryUse::kWeights);
  }

  /// Gradient, master and momentum read, the last two and the input of NS written.
  [[nodiscard]] Pass momentum(const std::string& name) {
    BoundMomentum work{{.lr = 3e-4F, .momentum = 0.95, .weight_decay = 0.01F}, {}};
    for_each([&](std::int64_t at, std::int64_t size) {
      work.items.push_back(
          {fp32(gradient_, at), fp32(master_, at), fp32(first_, at), fp32(second_, at), size});
    });
    return pass("momentum, " + name, 24, device_.prepare(std::move(work)));
  }

  /// Update and master read, master and, where there is one, the bf16 weight written.
  [[nodiscard]] Pass update(const std::string& name, DType weight) {
    BoundUpdate work{3e-4F, {}};
    for_each([&](std::int64_t at, std::int64_t size) {
      work.items.push_back({fp32(second_, at), fp32(master_, at), weight_at(weight, at), size});
    });
    return pass("update, " + name, 12 + copy_bytes(weight), device_.prepare(std::move(work)));
  }

  /// Gradient, master and both moments read, all but the gradient and, where there is one, the bf16 weight
  /// written.
  [[nodiscard]] Pass adam(const std::string& name, DType weight) {
    // A second moment is never negative; the first step, which is not timed, makes all of them positive.
    const auto zeros = device_.prepare(BoundZeroFill{{{second_.data(), second_.size()}}});
    const Queue queue = device_.make_queue();
    zeros->enqueue(queue, {});
    device_.synchronize(queue);
    BoundAdam work{{.lr = 1e-3F, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8F, .weight_decay = 0.1F}, {}};
    for_each([&](std::int64_t at, std::int64_t size) {
      work.items.push_back({fp32(gradient_, at), fp32(master_, at), fp32(first_, at), fp32(second_, at),
                            weight_at(weight, at), size});
    });
    return pass("adam, " + name, 28 + copy_bytes(weight), device_.prepare(std::move(work)));
  }

 private:
  template <class Visit>
  void for_each(Visit visit) const {
    std::int64_t at = 0;
    for (const std::int64_t size : sizes_) {
      visit(at, size);
      at += size;
    }
  }
  [[nodiscard]] static float* fp32(const Buffer& array, std::int64_t at) {
    return static_cast<float*>(array.data()) + at;
  }
  [[nodiscard]] void* weight_at(DType weight, std::int64_t at) const {
    return weight == DType::kBf16 ? static_cast<std::uint16_t*>(weight_.data()) + at : nullptr;
  }
  [[nodiscard]] static std::int64_t copy_bytes(DType weight) {
    return weight == DType::kBf16 ? size_of(weight).value() : 0;
  }
  [[nodiscard]] Pass pass(std::string name, std::int64_t bytes_per_element, std::unique_ptr<Kernel> kernel) {
    return {contender(std::move(name), device_, std::move(kernel)), Bytes(bytes_per_element * elements_)};
  }

  Device& device_;
  std::vector<std::int64_t> sizes_;
  std::int64_t elements_ = 0;
  std::uint64_t seed_ = 0;
  Buffer gradient_, master_, first_, second_, weight_;
};

nlohmann::ordered_json measure_muon(Device& device, const std::string& name, std::vector<std::int64_t> sizes,
                                    Effort effort) {
  Arrays arrays(device, std::move(sizes));
  std::vector<Pass> passes;
  passes.push_back(arrays.momentum(name));
  passes.push_back(arrays.update(name + ", fp32 weights", DType::kFp32));
  passes.push_back(arrays.update(name + ", bf16 weights", DType::kBf16));
  return rates(device, std::move(passes), effort);
}

nlohmann::ordered_json measure_adam(Device& device, const std::string& name, std::vector<std::int64_t> sizes,
                                    Effort effort) {
  Arrays arrays(device, std::move(sizes));
  std::vector<Pass> passes;
  passes.push_back(arrays.adam(name + ", fp32 weights", DType::kFp32));
  passes.push_back(arrays.adam(name + ", bf16 weights", DType::kBf16));
  return rates(device, std::move(passes), effort);
}

}  // namespace

std::vector<std::int64_t> llama3_8b_muon_shards() {
  constexpr std::int64_t kHidden = 4096, kKeyRows = 1024, kFfn = 14336, kLayers = 32;
  std::vector<std::int64_t> sizes;
  for (std::int64_t layer = 0; layer < kLayers; ++layer)
    for (const std::int64_t rows : {kHidden, kKeyRows, kKeyRows, kHidden, kFfn, kFfn, kFfn})
      sizes.push_back(rows * kHidden / kRanks);
  return sizes;
}

std::vector<std::int64_t> llama3_8b_adam_shards() {
  constexpr std::int64_t kHidden = 4096, kVocabulary = 128256, kNorms = 65;
  std::vector<std::int64_t> sizes = llama3_8b_muon_shards();
  sizes.insert(sizes.end(), 2, kVocabulary * kHidden / kRanks);
  sizes.insert(sizes.end(), kNorms, kHidden / kRanks);
  return sizes;
}

nlohmann::ordered_json measure_elementwise(Device& device, Effort effort) {
  auto rows = nlohmann::ordered_json::array();
  const auto add = [&rows](nlohmann::ordered_json more) {
    for (auto& row : more) rows.push_back(std::move(row));
  };
  add(measure_muon(device, "134217728 elements", {kManyElements}, effort));
  add(measure_muon(device, "llama3-8b shards", llama3_8b_muon_shards(), effort));
  add(measure_adam(device, "134217728 elements", {kManyElements}, effort));
  add(measure_adam(device, "llama3-8b shards", llama3_8b_adam_shards(), effort));
  return rows;
}

}  // namespace muonbench
