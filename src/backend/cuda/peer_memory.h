// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "src/backend/cuda/cuda_device.h"

/// Memory of one process's GPU in another process of the host, by CUDA IPC.
namespace muonbench::cuda {

/// An address as it goes to a peer: its allocation, and how far behind its begin it lies, in bytes.
struct ExportedAddress {
  cudaIpcMemHandle_t allocation = {};
  std::int64_t offset = 0;
};

/// Of `data` in memory of use exchange, and of the begin of an allocation of whole kExportedBlocks. They must
/// not be freed before every peer has let go of them.
[[nodiscard]] ExportedAddress exported(const CudaDevice& device, const void* data);
[[nodiscard]] ExportedAddress exported_allocation(void* base);

/// An allocation of a peer's, mapped.
class MappedAllocation;

/// An address of a peer's; its allocation stays mapped as long as one of them is there.
struct PeerAddress {
  std::shared_ptr<const MappedAllocation> allocation;
  std::byte* data = nullptr;
};

/// What peers exported. An allocation is mapped once, however many addresses in it there are.
class PeerMemory {
 public:
  /// Throws RuntimeFailure if that memory cannot be mapped; `peer`: whose it is, for the message.
  [[nodiscard]] PeerAddress map(const ExportedAddress& address, int peer);

 private:
  std::map<std::string, std::weak_ptr<const MappedAllocation>> mapped_;  ///< by the bytes of the handle
};

}  // namespace muonbench::cuda
