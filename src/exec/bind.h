// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "src/backend/backend.h"
#include "src/program/program.h"

namespace muonbench {

/// Buffer addresses of a bound program, by buffer index.
using Addresses = std::vector<void*>;

[[nodiscard]] void* address_of(const StepProgram& program, const Addresses& addresses, BufferId buffer,
                               Elements offset);

/// Device work of an op, prepared at its buffers' addresses. A collective becomes a Transfer of `comm`, which
/// is used for collectives alone and may be null for local work.
using Prepared = std::variant<std::unique_ptr<Kernel>, std::unique_ptr<Transfer>>;
[[nodiscard]] Prepared prepare_op(const StepProgram& program, const Op& op, const Addresses& addresses,
                                  Device& device, Comm* comm);

}  // namespace muonbench
