// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Where this program comes from; recorded in every result.
namespace muonbench {

[[nodiscard]] std::string_view version();

/// Full commit hash of the checkout that was built; empty if it was not a git checkout with a commit.
[[nodiscard]] std::string_view git_sha();

/// Whether anything that a build reads differed from that commit.
[[nodiscard]] bool git_dirty();

/// Name and version of the compiler of the C++ sources.
[[nodiscard]] std::string_view compiler();

}  // namespace muonbench
