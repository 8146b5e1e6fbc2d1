// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/backend/backend.h"

namespace muonbench {

/// A device whose queues are threads: what one queue is given runs beside what another is given, and beside
/// the host, unless an event stands between them. Its work is the given device's. What a program's
/// dependencies leave out shows as wrong numbers sooner or later, and under ThreadSanitizer at once.
[[nodiscard]] std::unique_ptr<Device> make_async_device(std::unique_ptr<Device> device);

/// Transfers as work of such a device's queues. Throws std::bad_cast on another device.
[[nodiscard]] std::unique_ptr<Comm> make_async_comm(std::unique_ptr<Comm> comm, Device& device);

}  // namespace muonbench
