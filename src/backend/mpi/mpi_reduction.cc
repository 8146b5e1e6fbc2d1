// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_reduction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/text.h"

namespace muonbench {
namespace {

/// What MPI lacks: a sum of bf16 numbers, each addition rounded. Commutes, so that two ranks which add each
/// other's have the same bits.
void add_bf16(void* in, void* in_and_out, int* count, MPI_Datatype* /*type*/) {
  const auto* const from = static_cast<const std::uint16_t*>(in);
  auto* const to = static_cast<std::uint16_t*>(in_and_out);
  for (int i = 0; i < *count; ++i) to[i] = bf16_from_fp32(fp32_from_bf16(from[i]) + fp32_from_bf16(to[i]));
}

class MpiReduction final : public Transfer {
 public:
  MpiReduction(std::shared_ptr<MpiGroup> group, Reductions work)
      : group_(std::move(group)), work_(std::move(work)) {}

  // A collective that is under way cannot be taken back. Where one is left, an error ends the job.

  void start(Queue /*queue*/) override {
    const std::int64_t largest = std::min(group_->options.largest_message, group_->options.reduced_at_a_time);
    std::int64_t under_way = 0;
    for (const ReducedPiece& piece : work_.pieces) {
      for (const MpiSegment& part : mpi_segments(Elements(piece.size), largest)) {
        if (under_way + part.count > group_->options.reduced_at_a_time) {
          complete();
          under_way = 0;
        }
        begin(static_cast<std::byte*>(piece.data) + bytes_of(part.offset, work_.dtype).value(), part.count,
              piece.root);
        under_way += part.count;
      }
    }
    count_collective(group_->counters, work_);
  }

  void wait(Queue /*queue*/) override { complete(); }

 private:
  void begin(void* data, int count, int root) {
    MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
    const MPI_Comm comm = group_->comm.get();
    const MPI_Datatype type = mpi_datatype(work_.dtype);
    const MPI_Op sum = sum_op();
    if (root == ReducedPiece::kEveryRank)
      MUONBENCH_MPI(MPI_Iallreduce(MPI_IN_PLACE, data, count, type, sum, comm, &request));
    else if (root == group_->rank)
      MUONBENCH_MPI(MPI_Ireduce(MPI_IN_PLACE, data, count, type, sum, root, comm, &request));
    else
      MUONBENCH_MPI(MPI_Ireduce(data, nullptr, count, type, sum, root, comm, &request));
  }

  [[nodiscard]] MPI_Op sum_op() {
    switch (work_.dtype) {
      case DType::kFp32: return MPI_SUM;
      case DType::kBf16:
        if (group_->bf16_sum.get() == MPI_OP_NULL) group_->bf16_sum = OwnedMpiOp(add_bf16);
        return group_->bf16_sum.get();
    }
    return MPI_OP_NULL;
  }

  void complete() {
    if (requests_.empty()) return;
    statuses_.resize(requests_.size());
    const int result = wait_for_all(requests_, statuses_, group_->options.waiting);
    const auto failed = [](const MPI_Status& status) {
      return status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING;
    };
    const auto first = std::find_if(statuses_.begin(), statuses_.end(), failed);
    const bool in_status = result == MPI_ERR_IN_STATUS && first != statuses_.end();
    const std::string call = text("waiting for {}", work_.collective);
    detail::check_mpi(in_status ? first->MPI_ERROR : result, call.c_str(), __FILE__, __LINE__);
    requests_.clear();
  }

  std::shared_ptr<MpiGroup> group_;
  Reductions work_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;  // of requests_
};

}  // namespace

std::unique_ptr<Transfer> make_mpi_reduction(std::shared_ptr<MpiGroup> group, Reductions work) {
  return std::make_unique<MpiReduction>(std::move(group), std::move(work));
}

}  // namespace muonbench
