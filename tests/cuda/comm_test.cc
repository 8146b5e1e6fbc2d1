// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// All transports of GPU memory. Ranks share a GPU where there are too few, which nccl and copy_engine refuse.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/comm_conformance.h"
#include "tests/conformance/device_array.h"
#include <gtest/gtest.h>

#include "src/backend/cuda/copy_engine_comm.h"
#include "src/backend/cuda/cuda_device.h"
#include "src/backend/mpi/mpi_comm.h"
#include "src/backend/mpi/mpi_control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"
#include "src/backend/select.h"
#include "src/backend/transport.h"
#include "src/base/error.h"

namespace muonbench {
namespace {

/// main() runs MPI already; this one uses it.
MpiRuntime& runtime() {
  static MpiRuntime the_runtime(nullptr, nullptr);
  return the_runtime;
}

/// Bus ids are told apart within this machine, on which all ranks of a test are.
bool each_rank_has_a_gpu() {
  MpiControlPlane control(runtime());
  const auto device = make_device("cuda", runtime().local_rank());
  const std::vector<std::string> gpus = control.gather(*device->capabilities().pci);
  const std::set<std::string> different(gpus.begin(), gpus.end());
  return control.broadcast(different.size() == gpus.size() ? "yes" : "no") == "yes";
}

/// copy_engine takes sums from a transport beside it: here one that takes several ranks on a GPU.
std::unique_ptr<Comm> make_group(const std::string& transport, Device& device, int color, int key) {
  if (transport != "copy_engine" || each_rank_has_a_gpu())
    return make_comm(transport, device, runtime(), color, key);
  return cuda::make_copy_engine_comm(dynamic_cast<cuda::CudaDevice&>(device),
                                     make_mpi_comm(runtime(), color, key),
                                     make_comm("mpi", device, runtime(), color, key));
}

void in_group(const std::string& transport, int color, int key, const RankBody& body) {
  if (transport == "nccl" && !each_rank_has_a_gpu()) GTEST_SKIP() << "more ranks than GPUs";
  const auto device = make_device("cuda", runtime().local_rank());
  const auto comm = make_group(transport, *device, color, key);
  body(*comm, *device);
}

CommCase world_case(const std::string& transport) {
  return {transport + "_world", [transport](const RankBody& body) {
            in_group(transport, /*color=*/0, runtime().rank().value(), body);
          }};
}

/// Even and odd ranks, in descending order; two groups communicate at the same time.
CommCase halves_case(const std::string& transport) {
  return {transport + "_halves", [transport](const RankBody& body) {
            const int rank = runtime().rank().value();
            in_group(transport, rank % 2, -rank, body);
          }};
}

INSTANTIATE_TEST_SUITE_P(Cuda, CommConformance,
                         testing::Values(world_case("mpi"), halves_case("mpi"), world_case("nccl"),
                                         halves_case("nccl"), world_case("copy_engine"),
                                         halves_case("copy_engine")),
                         [](const testing::TestParamInfo<CommCase>& each) { return each.param.name; });

class GpuTransport : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "nccl" && !each_rank_has_a_gpu()) GTEST_SKIP() << "more ranks than GPUs";
    device_ = make_device("cuda", runtime().local_rank());
    comm_ = make_group(GetParam(), *device_, 0, runtime().rank().value());
  }
  Device& device() { return *device_; }
  Comm& comm() { return *comm_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(comm_->size()); }

  /// Everybody's `own`, one after the other.
  BoundAllGather gather(const DeviceArray<float>& own, const DeviceArray<float>& all) {
    BoundAllGather work{DType::kFp32, {own.data(), own.size()}, {}};
    for (std::size_t peer = 0; peer < size(); ++peer)
      work.receives.push_back({all.data() + own.size() * static_cast<std::int64_t>(peer), own.size()});
    return work;
  }
  std::vector<float> gathered(std::size_t each, float base) {
    std::vector<float> all;
    for (std::size_t peer = 0; peer < size(); ++peer)
      all.insert(all.end(), each, base + static_cast<float>(peer));
    return all;
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Comm> comm_;
};

INSTANTIATE_TEST_SUITE_P(Cuda, GpuTransport, testing::Values("mpi", "nccl", "copy_engine"),
                         [](const testing::TestParamInfo<std::string>& each) { return each.param; });

TEST_P(GpuTransport, KeepsRunningAfterALargerTransferWasPrepared) {
  // Areas that transfers share may move when a larger one comes.
  const float own_value = static_cast<float>(comm().rank());
  DeviceArray<float> small(device(), std::vector<float>(10, own_value));
  const DeviceArray<float> small_all(device(), std::vector<float>(10 * size()));
  const Queue queue = device().make_queue();
  const auto first = comm().prepare(gather(small, small_all));
  first->start(queue);
  first->wait(queue);
  device().synchronize(queue);
  EXPECT_EQ(small_all.read(), gathered(10, 0.0F));

  const DeviceArray<float> large(device(), std::vector<float>(100000, 1000.0F + own_value));
  const DeviceArray<float> large_all(device(), std::vector<float>(100000 * size()));
  const auto second = comm().prepare(gather(large, large_all));
  small.write(std::vector<float>(10, 50.0F + own_value));
  for (const auto* transfer : {&second, &first}) {
    (*transfer)->start(queue);
    (*transfer)->wait(queue);
  }
  device().synchronize(queue);
  EXPECT_EQ(small_all.read(), gathered(10, 50.0F));
  EXPECT_EQ(large_all.read(), gathered(100000, 1000.0F));
}

TEST_P(GpuTransport, OrdersTransfersOfOneQueueAfterItsWorkAndBeforeTheNext) {
  // Values travel as the queue had them, without the host in between.
  const float own_value = static_cast<float>(comm().rank());
  const DeviceArray<float> source(device(), std::vector<float>(5000, own_value));
  const DeviceArray<float> own(device(), std::vector<float>(5000, -1.0F));
  const DeviceArray<float> all(device(), std::vector<float>(5000 * size()));
  const DeviceArray<float> copy(device(), std::vector<float>(5000 * size()));
  const auto tile = [](const DeviceArray<float>& from, const DeviceArray<float>& to) {
    const std::int64_t n = from.size();
    return BoundCopy{{{from.data(), DType::kFp32, n, to.data(), DType::kFp32, n, Shape{1, n}}}};
  };
  const auto before = device().prepare(tile(source, own));
  const auto transfer = comm().prepare(gather(own, all));
  const auto after = device().prepare(tile(all, copy));
  const Queue queue = device().make_queue();
  const Queue other = device().make_queue();
  before->enqueue(queue, StepContext{});
  transfer->start(queue);
  transfer->wait(other);
  after->enqueue(other, StepContext{});
  device().synchronize(other);
  EXPECT_EQ(copy.read(), gathered(5000, 0.0F));
}

TEST(Nccl, IsRefusedWithBothNumbersWhereRanksShareAGpu) {
  MpiControlPlane control(runtime());
  const auto device = make_device("cuda", runtime().local_rank());
  EXPECT_EQ(transport_refusal("mpi", *device, runtime(), control), "");
  const std::string refusal = transport_refusal("nccl", *device, runtime(), control);
  const bool able = each_rank_has_a_gpu();
  if (runtime().rank() != WorldRank(0) || able) {
    EXPECT_EQ(refusal, "");
    return;
  }
  for (const std::string& part : {std::to_string(runtime().size()) + " ranks on ", runtime().host(),
                                  *device->capabilities().pci, std::string("mpi takes several ranks")})
    EXPECT_NE(refusal.find(part), std::string::npos) << part << " in: " << refusal;
}

}  // namespace
}  // namespace muonbench
