#!/bin/sh
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
# Run by Bazel before each build. Prints the commit, and whether what is built differs from it. Files that no build
# reads (documents, configurations, results) do not count. Outside a git checkout: nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1
sha=$(git rev-parse --verify --quiet HEAD 2>/dev/null) || exit 0
echo "STABLE_GIT_SHA $sha"
changes=$(git status --porcelain -- src scripts/bazel BUILD WORKSPACE .bazelrc 2>/dev/null) || exit 0
if [ -n "$changes" ]; then echo "STABLE_GIT_DIRTY 1"; else echo "STABLE_GIT_DIRTY 0"; fi
