// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_reduction.h"

#include <algorithm>
#include <string>

#include "src/base/text.h"

namespace muonbench {
namespace {

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
        begin(piece.data + part.offset.value(), part.count, piece.root);
        under_way += part.count;
      }
    }
    count_collective(group_->counters, work_);
  }

  void wait(Queue /*queue*/) override { complete(); }

 private:
  void begin(float* data, int count, int root) {
    MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
    const MPI_Comm comm = group_->comm.get();
    if (root == ReducedPiece::kEveryRank)
      MUONBENCH_MPI(MPI_Iallreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, comm, &request));
    else if (root == group_->rank)
      MUONBENCH_MPI(MPI_Ireduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, root, comm, &request));
    else
      MUONBENCH_MPI(MPI_Ireduce(data, nullptr, count, MPI_FLOAT, MPI_SUM, root, comm, &request));
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
