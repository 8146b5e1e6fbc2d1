#!/bin/sh
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
# version_stamp.sh STATUS_FILE: the C++ source that answers git_sha() and git_dirty() from what workspace_status.sh said.
set -eu
sha=$(awk '$1 == "STABLE_GIT_SHA" { print $2 }' "$1")
dirty=$(awk '$1 == "STABLE_GIT_DIRTY" { print $2 }' "$1")
cat <<END
#include "src/base/version.h"

namespace muonbench {
std::string_view git_sha() { return "$sha"; }
bool git_dirty() { return ${dirty:-0} != 0; }
}  // namespace muonbench
END
