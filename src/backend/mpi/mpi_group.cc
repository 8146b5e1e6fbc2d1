// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_group.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <sched.h>

namespace muonbench {
namespace {

/// Pauses between two polls. A rank that computes needs the core more than one that polls, and sched_yield
/// alone does not give it away: the scheduler deals out equal shares among all that are runnable. So sleep,
/// the longer the longer it takes.
class Pause {
 public:
  void once() {
    ++polls_;
    if (polls_ <= kBusyPolls) return;
    if (polls_ <= kBusyPolls + kYields) {
      static_cast<void>(sched_yield());
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, kLongestSleep);
  }

 private:
  static constexpr int kBusyPolls = 50;
  static constexpr int kYields = 50;
  static constexpr std::chrono::microseconds kLongestSleep{200};
  std::chrono::microseconds sleep_{10};
  int polls_ = 0;
};

}  // namespace

MPI_Datatype mpi_datatype(DType dtype) {
  switch (dtype) {
    case DType::kFp32: return MPI_FLOAT;
    case DType::kBf16: return MPI_UINT16_T;
  }
  return MPI_DATATYPE_NULL;
}

int wait_for_all(std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses, MpiWaiting waiting) {
  const int count = static_cast<int>(requests.size());
  switch (waiting) {
    case MpiWaiting::kSpin: return MPI_Waitall(count, requests.data(), statuses.data());
    case MpiWaiting::kYield: break;
  }
  int done = 0;
  for (Pause pause; done == 0; pause.once()) {
    const int result = MPI_Testall(count, requests.data(), &done, statuses.data());
    if (result != MPI_SUCCESS || done != 0) return result;
  }
  return MPI_SUCCESS;
}

}  // namespace muonbench
