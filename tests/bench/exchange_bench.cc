// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the transports move when nothing else is in the way: plain collectives of equal blocks among all
// ranks.
//   mpirun -n N exchange_bench [cpu|cuda] [mpi|nccl|copy_engine] [BYTES]...
// By default cuda, nccl, 1 MiB to 1 GiB. One JSON object on rank 0's standard output (results/README.md).
// BYTES is what a rank gives to an all_to_all, its own block counted in, and what it has after an all_gather.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/in_turn.h"
#include <nlohmann/json.hpp>

#include "src/backend/mpi/mpi_control_plane.h"
#include "src/backend/select.h"
#include "src/backend/transport.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

constexpr int kSamples = 11, kMostRuns = 50;
constexpr double kSampleSeconds = 0.02;
constexpr std::int64_t kLargestChecked = std::int64_t{64} << 20U;

struct Request {
  std::string backend = "cuda", transport = "nccl";
  std::vector<std::int64_t> sizes;
};

Request parse(const std::vector<std::string_view>& words) {
  Request request;
  for (const std::string_view word : words) {
    std::int64_t size = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), size);
    if (word == "cpu" || word == "cuda") {
      request.backend = word;
    } else if (word == "mpi" || word == "nccl" || word == "copy_engine") {
      request.transport = word;
    } else if (parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() && size > 0) {
      request.sizes.push_back(size);
    } else {
      throw ConfigError(
          text("expected cpu, cuda, mpi, nccl, copy_engine or a number of bytes, got '{}'", word));
    }
  }
  if (request.sizes.empty())
    for (std::int64_t mib = 1; mib <= 1024; mib *= 4) request.sizes.push_back(mib << 20U);
  return request;
}

enum class Collective { kAllToAll, kAllGather };

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::kAllToAll: return "all_to_all";
    case Collective::kAllGather: return "all_gather";
  }
  return "";
}

struct Job {
  const MpiRuntime& runtime;
  Device& device;
  Comm& comm;
};

/// One collective of equal blocks, prepared.
class Exchange {
 public:
  /// `block`: fp32 elements for each peer.
  Exchange(const Job& job, Collective collective, std::int64_t block)
      : job_(job), collective_(collective), block_(block), queue_(job.device.make_queue()) {
    const int ranks = job.comm.size();
    const std::int64_t blocks = collective == Collective::kAllToAll ? ranks : 1;
    send_ = random_array(job.device, {blocks, block}, DType::kFp32, stream_of(job.comm.rank()));
    receive_ = job.device.allocate(bytes_of(Elements(block * ranks), DType::kFp32), MemoryUse::kExchange);
    const auto segments = [&](const Buffer& buffer) {
      std::vector<BoundSegment> list;
      for (int peer = 0; peer < ranks; ++peer)
        list.push_back({static_cast<float*>(buffer.data()) + peer * block, block});
      return list;
    };
    if (collective == Collective::kAllToAll)
      transfer_ = job.comm.prepare(BoundAllToAll{DType::kFp32, segments(send_), segments(receive_)});
    else
      transfer_ = job.comm.prepare(BoundAllGather{DType::kFp32, {send_.data(), block}, segments(receive_)});
  }

  /// Seconds from the barrier until this rank's device has drained, the slowest rank's on all.
  [[nodiscard]] double run(int runs) {
    job_.runtime.barrier();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) {
      transfer_->start(queue_);
      transfer_->wait(queue_);
    }
    job_.device.synchronize(queue_);
    const std::chrono::duration<double> own = std::chrono::steady_clock::now() - begin;
    return job_.runtime.all_reduce(own.count(), Reduction::kMax);
  }

  /// Throws unless every block is the one that its rank sent.
  void check() const {
    for (int peer = 0; peer < job_.comm.size(); ++peer) {
      const bool dealt = collective_ == Collective::kAllToAll;
      const std::int64_t blocks = dealt ? job_.comm.size() : 1;
      const Buffer sent = random_array(job_.device, {blocks, block_}, DType::kFp32, stream_of(peer));
      const std::int64_t offset = dealt ? job_.comm.rank() * block_ : 0;
      if (block_at(sent, offset) != block_at(receive_, peer * block_))
        throw RuntimeFailure(text("{} of {} elements a block: expected what rank {} sent, got other values",
                                  name_of(collective_), block_, peer));
    }
  }

 private:
  [[nodiscard]] static std::uint64_t stream_of(int rank) { return static_cast<std::uint64_t>(rank) + 1; }
  [[nodiscard]] std::vector<float> block_at(const Buffer& buffer, std::int64_t offset) const {
    std::vector<float> host(static_cast<std::size_t>(block_));
    job_.device.download(host.data(), static_cast<const float*>(buffer.data()) + offset,
                         bytes_of(Elements(block_), DType::kFp32));
    return host;
  }

  Job job_;
  Collective collective_;
  std::int64_t block_;
  Queue queue_;
  Buffer send_, receive_;
  std::unique_ptr<Transfer> transfer_;
};

nlohmann::ordered_json measure(const Job& job, Collective collective, std::int64_t bytes) {
  const std::int64_t ranks = job.comm.size();
  const std::int64_t block = std::max<std::int64_t>(1, bytes / ranks / size_of(DType::kFp32).value());
  Exchange exchange(job, collective, block);
  // All ranks see the slowest one's times, and so agree on how many runs make a sample.
  const Timing timing = in_turn({{"", [&exchange](int runs) { return exchange.run(runs); }}},
                                {kSamples, kSampleSeconds, kMostRuns})
                            .front();
  const std::int64_t whole = bytes_of(Elements(block * ranks), DType::kFp32).value();
  const bool checked = whole <= kLargestChecked;
  if (checked) exchange.check();
  const double algbw = static_cast<double>(whole) / timing.p50 * 1e-9;
  return {{"collective", name_of(collective)},
          {"bytes", whole},
          {"seconds", to_json(timing)},
          {"algbw_gbs", algbw},
          {"busbw_gbs", algbw * static_cast<double>(ranks - 1) / static_cast<double>(ranks)},
          {"checked", checked}};
}

void run(const Request& request, const MpiRuntime& runtime) {
  MpiControlPlane control(runtime);
  const auto device = make_device(request.backend, runtime.local_rank());
  const std::string refusal =
      control.broadcast(transport_refusal(request.transport, *device, runtime, control));
  if (!refusal.empty()) throw ConfigError(refusal);
  const auto comm = make_comm(request.transport, *device, runtime, 0, runtime.rank().value());
  const Job job{runtime, *device, *comm};
  auto rows = nlohmann::ordered_json::array();
  for (const Collective collective : {Collective::kAllToAll, Collective::kAllGather})
    for (const std::int64_t size : request.sizes) rows.push_back(measure(job, collective, size));
  if (control.rank() != 0) return;
  const nlohmann::ordered_json report = {{"program", "exchange_bench"},
                                         {"device", device->capabilities().device_name},
                                         {"versions", library_versions(request.backend)},
                                         {"transport", request.transport},
                                         {"ranks", control.size()},
                                         {"rows", rows}};
  std::puts(report.dump(2).c_str());
}

}  // namespace
}  // namespace muonbench

int main(int argc, char** argv) {
  const muonbench::MpiRuntime runtime(&argc, &argv);
  try {
    muonbench::run(muonbench::parse({argv + 1, argv + argc}), runtime);
    return 0;
  } catch (const muonbench::Error& error) {
    // The others may be inside a collective that this rank will never join.
    std::fprintf(stderr, "exchange_bench: rank %d: %s\n", runtime.rank().value(), error.what());
    runtime.abort(error.code());
  }
}
