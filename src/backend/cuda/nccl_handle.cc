// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/nccl_handle.h"

#include <exception>
#include <thread>
#include <utility>

#include "src/backend/cuda/nccl_check.h"

namespace muonbench::cuda {
namespace {

/// Groups are enqueued within microseconds; new connections take a second. Poll the former without a pause.
class Pause {
 public:
  void once() {
    if (++polls_ <= kBusyPolls)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kSleep);
  }

 private:
  static constexpr int kBusyPolls = 10000;
  static constexpr std::chrono::microseconds kSleep{100};
  int polls_ = 0;
};

}  // namespace

NcclHandle::NcclHandle(const ncclUniqueId& id, int size, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  // A blocking call that waits for a dead peer could not be told from a slow one, nor be given up.
  config.blocking = 0;
  MUONBENCH_NCCL(ncclCommInitRankConfig(&comm_, size, id, rank, &config));
  try {
    settle("ncclCommInitRankConfig");
  } catch (const std::exception&) {
    abort();
    throw;
  }
}

NcclHandle::~NcclHandle() {
  if (comm_ == nullptr) return;
  if (std::uncaught_exceptions() > 0) {
    abort();
    return;
  }
  MUONBENCH_NCCL_NOEXCEPT(ncclCommFinalize(comm_));
  ncclResult_t now = state();
  for (Pause pause; now == ncclInProgress; pause.once()) now = state();
  MUONBENCH_NCCL_NOEXCEPT(now);
  if (now == ncclSuccess)
    MUONBENCH_NCCL_NOEXCEPT(ncclCommDestroy(comm_));
  else
    abort();
}

ncclResult_t NcclHandle::state() const {
  ncclResult_t now = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_, &now);
  return asked == ncclSuccess ? now : asked;
}

void NcclHandle::abort() noexcept {
  if (comm_ == nullptr) return;
  MUONBENCH_NCCL_NOEXCEPT(ncclCommAbort(std::exchange(comm_, nullptr)));
}

void NcclHandle::settle(const char* call) {
  ncclResult_t now = state();
  for (Pause pause; now == ncclInProgress; pause.once()) now = state();
  detail::check_nccl(now, call, __FILE__, __LINE__);
}

void NcclHandle::poll() {
  if (comm_ == nullptr) return;
  try {
    detail::check_nccl(state(), "a transfer (ncclCommGetAsyncError)", __FILE__, __LINE__);
  } catch (const std::exception&) {
    abort();
    throw;
  }
}

}  // namespace muonbench::cuda
