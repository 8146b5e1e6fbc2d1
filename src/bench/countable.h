// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "src/model/parameter.h"
#include "src/ns/ns_options.h"
#include "src/shard/row_split.h"
#include "src/shard/shard_spec.h"

namespace muonbench {

/// NS work of one step must be countable in 64 bits. Throws ConfigError at the parameter that is too much.
void refuse_uncountable_work(const ParamSet& params, const std::vector<RowSplit>& splits,
                             const NsOptions& ns);

/// What a rank holds, pads included, and what a step moves on top of it must be countable in 64 bits. Throws
/// ConfigError at the parameter that is too much.
void refuse_uncountable_bytes(const ParamSet& params, const std::vector<ParamShardSpec>& specs);

/// The same of Gram matrices in mode distributed, which may be squares on the longer side. ConfigError names
/// the mode.
void refuse_uncountable_grams(const ParamSet& params, const std::vector<RowSplit>& splits,
                              const std::vector<ParamShardSpec>& specs, const NsOptions& ns);

}  // namespace muonbench
