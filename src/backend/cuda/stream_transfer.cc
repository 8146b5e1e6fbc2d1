// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cuda/stream_transfer.h"

#include "src/backend/cuda/own_block.h"

namespace muonbench::cuda {

void StreamTransfer::start(Queue queue) {
  MUONBENCH_CUDA(cudaEventRecord(ready_.get(), device_.stream(queue)));
  MUONBENCH_CUDA(cudaStreamWaitEvent(stream(), ready_.get(), 0));
  enqueue();
  if (copied_) MUONBENCH_CUDA(cudaStreamWaitEvent(stream(), copied_.get(), 0));
  MUONBENCH_CUDA(cudaEventRecord(done_.get(), stream()));
}

void StreamTransfer::wait(Queue queue) {
  MUONBENCH_CUDA(cudaStreamWaitEvent(device_.stream(queue), done_.get(), 0));
}

void StreamTransfer::enqueue_own_copy(const PeerTransfers& work) {
  if (!copied_) return;
  const cudaStream_t beside = streams_.own_copies.get();
  MUONBENCH_CUDA(cudaStreamWaitEvent(beside, ready_.get(), 0));
  copy_own_block(work, beside);
  MUONBENCH_CUDA(cudaEventRecord(copied_.get(), beside));
}

}  // namespace muonbench::cuda
