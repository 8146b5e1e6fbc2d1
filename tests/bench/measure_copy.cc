// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>
#include <utility>

#include "tests/bench/measures.h"
#include <nlohmann/json.hpp>

#include "src/backend/cuda/cuda_check.h"
#include "src/backend/cuda/cuda_resources.h"

namespace muonbench {
namespace {

constexpr Bytes kPlainCopyBytes(std::int64_t{2} << 30U);

Buffer random_fp32(Device& device, std::int64_t elements) {
  constexpr std::int64_t kCols = 1024;
  return random_array(device, {elements / kCols, kCols}, DType::kFp32, 1);
}

/// What a byte costs at least: the driver's own copy, large against the cache.
class PlainCopy {
 public:
  explicit PlainCopy(Device& device)
      : from_(random_fp32(device, kPlainCopyBytes.value() / size_of(DType::kFp32).value())),
        to_(device.allocate(kPlainCopyBytes, MemoryUse::kExchange)) {}

  [[nodiscard]] static Bytes bytes() { return kPlainCopyBytes * 2; }

  [[nodiscard]] double operator()(int runs) const {
    MUONBENCH_CUDA(cudaEventRecord(begin_.get(), stream_.get()));
    for (int run = 0; run < runs; ++run)
      MUONBENCH_CUDA(cudaMemcpyAsync(to_.data(), from_.data(), static_cast<std::size_t>(to_.size().value()),
                                     cudaMemcpyDeviceToDevice, stream_.get()));
    MUONBENCH_CUDA(cudaEventRecord(end_.get(), stream_.get()));
    MUONBENCH_CUDA(cudaEventSynchronize(end_.get()));
    float milliseconds = 0.0F;
    MUONBENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  Buffer from_, to_;
  cuda::OwnedStream stream_ = cuda::make_stream();
  cuda::OwnedEvent begin_ = cuda::make_timed_event(), end_ = cuda::make_timed_event();
};

Pass plain_copy(Device& device) {
  const auto copy = std::make_shared<PlainCopy>(device);
  return {{"cudaMemcpyAsync", [copy](int runs) { return (*copy)(runs); }}, PlainCopy::bytes()};
}

double per_second(Bytes bytes, const Timing& timing) {
  return static_cast<double>(bytes.value()) / timing.p50;
}

Bytes bytes_of_tile(const BoundTile& tile) {
  return bytes_of(tile.shape.elements(), tile.src_dtype) + bytes_of(tile.shape.elements(), tile.dst_dtype);
}

Pass copy_of(Device& device, std::string name, std::vector<BoundTile> tiles) {
  Bytes bytes;
  for (const BoundTile& tile : tiles) bytes += bytes_of_tile(tile);
  return {contender(std::move(name), device, device.prepare(BoundCopy{std::move(tiles)})), bytes};
}

std::vector<BoundTile> tiles_of_shards(const Buffer& from, const Buffer& to) {
  std::vector<BoundTile> tiles;
  std::int64_t offset = 0;
  for (const std::int64_t size : llama3_8b_muon_shards()) {
    tiles.push_back({static_cast<const float*>(from.data()) + offset,
                     DType::kFp32,
                     size,
                     static_cast<float*>(to.data()) + offset,
                     DType::kFp32,
                     size,
                     {1, size}});
    offset += size;
  }
  return tiles;
}

}  // namespace

nlohmann::ordered_json rates(Device& device, std::vector<Pass> passes, Effort effort) {
  passes.insert(passes.begin(), plain_copy(device));
  std::vector<Contender> contenders;
  contenders.reserve(passes.size());
  for (const Pass& pass : passes) contenders.push_back(pass.contender);
  const std::vector<Timing> timings = in_turn(contenders, effort);
  const double copy = per_second(passes.front().bytes, timings.front());
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const double rate = per_second(passes[i].bytes, timings[i]);
    rows.push_back({{"name", passes[i].contender.name},
                    {"bytes", passes[i].bytes.value()},
                    {"seconds", to_json(timings[i])},
                    {"bytes_per_second", rate},
                    {"fraction_of_copy", rate / copy}});
  }
  return rows;
}

double copy_rate(Device& device, Effort effort) {
  const Pass pass = plain_copy(device);
  return per_second(pass.bytes, in_turn({pass.contender}, effort).front());
}

nlohmann::ordered_json measure_copy(Device& device, Effort effort) {
  constexpr Shape kTile{16384, 32768};
  constexpr Shape kHalf{kTile.rows, kTile.cols / 2};
  std::int64_t shard_elements = 0;
  for (const std::int64_t size : llama3_8b_muon_shards()) shard_elements += size;
  const Buffer from = random_fp32(device, shard_elements);
  const Buffer to = device.allocate(bytes_of(Elements(shard_elements), DType::kFp32), MemoryUse::kExchange);
  const auto tile = [&](Shape shape, std::int64_t src_stride, std::int64_t dst_stride, DType dst_dtype) {
    return std::vector<BoundTile>{
        {from.data(), DType::kFp32, src_stride, to.data(), dst_dtype, dst_stride, shape}};
  };
  std::vector<Pass> passes;
  passes.push_back(copy_of(device, "fp32 tile", tile(kTile, kTile.cols, kTile.cols, DType::kFp32)));
  passes.push_back(copy_of(device, "half rows to a tile", tile(kHalf, kTile.cols, kHalf.cols, DType::kFp32)));
  passes.push_back(copy_of(device, "tile to half rows", tile(kHalf, kHalf.cols, kTile.cols, DType::kFp32)));
  passes.push_back(copy_of(device, "fp32 tile to bf16", tile(kTile, kTile.cols, kTile.cols, DType::kBf16)));
  passes.push_back(copy_of(device, "llama3-8b shards", tiles_of_shards(from, to)));
  return rates(device, std::move(passes), effort);
}

}  // namespace muonbench
