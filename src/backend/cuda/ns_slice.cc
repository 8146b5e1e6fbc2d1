// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/ns_slice.h"

#include <utility>

#include "src/backend/cuda/ns_products.h"
#include "src/base/check.h"
#include "src/ns/schedule.h"

namespace muonbench::cuda {
namespace {

class NsSliceKernel final : public Kernel {
 public:
  NsSliceKernel(CudaDevice& device, Multipliers& multipliers, BoundNsSlice work)
      : device_(device),
        work_(std::move(work)),
        products_(device, multipliers, work_.slice, work_.options, work_.scratch,
                  static_cast<int>(work_.data.size())),
        scale_(work_.scaling == NsScaling::kByNs ? ns_scale(work_.matrix, work_.options) : NsScale{}) {
    MUONBENCH_CHECK(work_.options.algorithm != NsAlgorithm::kGram,
                    "gram on slices, whose Gram matrices are added up at each step");
    MUONBENCH_CHECK(work_.step >= 0 && work_.step < std::ssize(work_.options.steps), "NS step {} of {}",
                    work_.step, work_.options.steps.size());
    data_ = device.make_table(work_.data);
    if (work_.part == NsPart::kSumOfSquares)
      norm_parts_ = device.make_table(std::vector<double>(
          work_.data.size() * static_cast<std::size_t>(norm_parts(products_.iterate(0).elements))));
  }

  void enqueue(Queue queue, const StepContext& /*context*/) override {
    if (work_.data.empty()) return;
    const cudaStream_t stream = device_.stream(queue);
    switch (work_.part) {
      case NsPart::kSumOfSquares:
        launch_sums_of_squares(data_.as<const float* const>(), norm_parts_.as<double>(), work_.sums,
                               products_.iterate(0), stream);
        break;
      case NsPart::kNormalise:
        launch_normalise_by_sums(data_.as<const float* const>(), work_.sums, products_.iterate(0), stream);
        break;
      case NsPart::kGram: products_.enqueue_gram(work_.step, queue); break;
      case NsPart::kStep: products_.enqueue_stretch(work_.step, queue); break;
      case NsPart::kScaleOut:
        launch_scale_out(data_.as<float* const>(),
                         products_.iterate(static_cast<int>(work_.options.steps.size())), scale_.factor,
                         scale_.extra, stream);
        break;
    }
  }

 private:
  CudaDevice& device_;
  BoundNsSlice work_;
  NsProducts products_;
  NsScale scale_;
  DeviceTable data_, norm_parts_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_ns_slice(CudaDevice& device, Multipliers& multipliers, BoundNsSlice work) {
  return std::make_unique<NsSliceKernel>(device, multipliers, std::move(work));
}

}  // namespace muonbench::cuda
