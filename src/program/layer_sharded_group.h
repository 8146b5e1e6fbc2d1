// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/program/emitter.h"

namespace muonbench {

/// Queues of one param group: one for what travels, with momentum and update, and one for NS, which may be
/// the same.
struct PipelineQueues {
  int travel = 0;
  int ns = 0;
};

/// Emits the step of one param group whose matrices meet NS at their homes: momentum, the ways of
/// inputs().travel there and back, NS, update. Parameters of `held` without a home, which are whole on every
/// rank, meet NS where they are, and so do those whose NS is spread over the domain. All ranks of the group's
/// domain must emit the same list.
void emit_layer_sharded_group(Emitter& emitter, const ParamGroup& held, PipelineQueues queues);

}  // namespace muonbench
