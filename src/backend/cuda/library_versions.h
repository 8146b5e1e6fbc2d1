// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace muonbench::cuda {

/// cuda (the runtime), cublas and nccl as they were loaded: "13.0", "13.1.0", "2.28.9". Needs no GPU.
[[nodiscard]] std::map<std::string, std::string> library_versions();

}  // namespace muonbench::cuda
