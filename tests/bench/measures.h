// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/bench/in_turn.h"
#include <nlohmann/json_fwd.hpp>

#include "src/backend/backend.h"
#include "src/ns/ns_options.h"

/// What gpu_bench measures; results/README.md defines every field.
namespace muonbench {

/// A pass over memory and the bytes that it must read and write.
struct Pass {
  Contender contender;
  Bytes bytes;
};
/// Times a plain copy and the passes in turn; the bytes per second of each, and as a fraction of the copy's.
[[nodiscard]] nlohmann::ordered_json rates(Device& device, std::vector<Pass> passes, Effort effort);

/// Bytes read and written per second by cudaMemcpyAsync from device to device.
[[nodiscard]] double copy_rate(Device& device, Effort effort);

[[nodiscard]] nlohmann::ordered_json measure_copy(Device& device, Effort effort);
[[nodiscard]] nlohmann::ordered_json measure_elementwise(Device& device, Effort effort);
/// NS of each shape beside its products alone.
[[nodiscard]] nlohmann::ordered_json measure_ns(Device& device, const std::vector<NsShape>& shapes,
                                                Effort effort);
/// NS by gemm, syrk and gram, in turn. Throws RuntimeFailure where there are no symmetric products.
[[nodiscard]] nlohmann::ordered_json measure_algorithms(Device& device, const std::vector<NsShape>& shapes,
                                                        Effort effort);
/// NS of one small matrix, where launches weigh as much as products.
[[nodiscard]] nlohmann::ordered_json measure_launch(Device& device, Effort effort);

/// Elements of each Muon weight's shard of Llama 3 8B over 8 ranks, and of its other parameters'.
[[nodiscard]] std::vector<std::int64_t> llama3_8b_muon_shards();
[[nodiscard]] std::vector<std::int64_t> llama3_8b_adam_shards();

}  // namespace muonbench
