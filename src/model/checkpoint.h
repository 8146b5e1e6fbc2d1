// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/config/run_config.h"

/// model.safetensors: the shapes of a real checkpoint. Headers alone are read, never a weight.
namespace muonbench {

/// Name, dtype and shape of all tensors of a .safetensors file, or of the files that an .index.json beside
/// them names, as one JSON object {"name": ["BF16", 4096, 4096]}: text, so that one rank can read for all.
/// Throws ConfigError naming file and tensor: unreadable, truncated, a header beyond 100 MB or beyond its
/// file, no JSON, a tensor without dtype, shape or data_offsets, offsets that overlap, leave a hole, leave
/// the file or do not fit the shape.
[[nodiscard]] std::string checkpoint_tensors(const std::string& path);

struct CheckpointModel {
  std::vector<ParamConfig> params;  ///< by layer, then by name, numbers in names compared as numbers
  int layers = 0;
};

/// What the names say about the roles of tensors (the table in configs/README.md). Throws ConfigError naming
/// the tensor, headed by `path`: a dtype that is not floating-point, a size of 0, no parameter at all.
[[nodiscard]] CheckpointModel checkpoint_model(std::string_view tensors, const std::string& path);

}  // namespace muonbench
