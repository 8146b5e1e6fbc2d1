// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/newton_schulz.h"

#include <utility>
#include <vector>

#include "src/backend/cuda/ns_products.h"
#include "src/ns/schedule.h"

namespace muonbench::cuda {
namespace {

// Below this many operations a GPU is done before a host has launched the next kernel: about a millisecond.
constexpr double kLaunchBoundFlops = 1e12;

class NewtonSchulzKernel final : public Kernel {
 public:
  NewtonSchulzKernel(CudaDevice& device, Multipliers& multipliers, BoundNewtonSchulz work)
      : device_(device),
        work_(std::move(work)),
        products_(device, multipliers, whole_slice(work_.matrix), work_.options, work_.scratch,
                  static_cast<int>(work_.items.size())),
        scale_(work_.scaling == NsScaling::kByNs ? ns_scale(work_.matrix, work_.options) : NsScale{}),
        launch_bound_(static_cast<double>(ns_flops(work_.matrix, work_.options)) *
                          static_cast<double>(work_.items.size()) <
                      kLaunchBoundFlops) {
    std::vector<const float*> in;
    std::vector<float*> out;
    for (const auto& [from, to] : work_.items) {
      in.push_back(from);
      out.push_back(to);
    }
    in_ = device.make_table(in);
    out_ = device.make_table(out);
    norm_parts_ = device.make_table(std::vector<double>(
        in.size() * static_cast<std::size_t>(norm_parts(work_.matrix.elements().value()))));
  }

  void make_ready(Queue queue) override {
    // The graph holds the workspace of the queue on which it was recorded.
    const bool recorded = graph_ && queue.index == recorded_on_.index;
    if (launch_bound_ && !recorded && !work_.items.empty()) record(queue);
  }

  void enqueue(Queue queue, const StepContext& /*context*/) override {
    if (work_.items.empty()) return;
    if (!launch_bound_) {
      launch_all(queue);
      return;
    }
    make_ready(queue);
    MUONBENCH_CUDA(cudaGraphLaunch(graph_.get(), device_.stream(queue)));
  }

 private:
  void record(Queue queue) {
    const cudaStream_t stream = device_.stream(queue);
    MUONBENCH_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      launch_all(queue);
    } catch (...) {
      // What failed is said by whoever catches it, not by all that comes after on a stream that records.
      static_cast<void>(cudaStreamEndCapture(stream, &graph));
      throw;
    }
    MUONBENCH_CUDA(cudaStreamEndCapture(stream, &graph));
    const Owned<cudaGraph_t, cudaGraphDestroy> recorded(graph);
    cudaGraphExec_t ready = nullptr;
    MUONBENCH_CUDA(cudaGraphInstantiate(&ready, graph, 0));
    graph_ = OwnedGraphExec(ready);
    recorded_on_ = queue;
    MUONBENCH_CUDA(cudaGraphUpload(ready, stream));
  }

  void launch_all(Queue queue) const {
    const cudaStream_t stream = device_.stream(queue);
    launch_normalise(in_.as<const float* const>(), norm_parts_.as<double>(), products_.iterate(0), stream);
    for (int stretch = 0; stretch < products_.stretches(); ++stretch) {
      products_.enqueue_gram(stretch, queue);
      products_.enqueue_stretch(stretch, queue);
    }
    launch_scale_out(out_.as<float* const>(), products_.iterate(products_.stretches()), scale_.factor,
                     scale_.extra, stream);
  }

  CudaDevice& device_;
  BoundNewtonSchulz work_;
  NsProducts products_;
  NsScale scale_;
  bool launch_bound_;
  DeviceTable in_, out_, norm_parts_;
  OwnedGraphExec graph_;
  Queue recorded_on_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_newton_schulz(CudaDevice& device, Multipliers& multipliers,
                                              BoundNewtonSchulz work) {
  return std::make_unique<NewtonSchulzKernel>(device, multipliers, std::move(work));
}

}  // namespace muonbench::cuda
