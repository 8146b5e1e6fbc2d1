// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/backend.h"

namespace muonbench {

/// Where the ranks of one group meet within one process; see loopback_comm.cc.
class LoopbackHub;

/// A group of `size` ranks that are threads of this process.
[[nodiscard]] std::shared_ptr<LoopbackHub> make_loopback_hub(int size);

/// The group as rank `rank` sees it: one communicator per rank and hub, each used by one thread at a time.
/// Segments are addresses of host memory. Whichever rank of a pair starts second copies between the two, so
/// that ranks may wait in any order. wait throws RuntimeFailure if what a peer sends differs in kind, dtype
/// or size from what this rank receives; the message names both ranks and both sizes. All other ranks' waits
/// throw from then on, as do waits for a rank whose communicator is gone.
[[nodiscard]] std::unique_ptr<Comm> make_loopback_comm(std::shared_ptr<LoopbackHub> hub, int rank);

}  // namespace muonbench
