#!/usr/bin/env bash
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
#
# From a bare Debian 12 to the answer, in one command: installs what is missing, builds, runs configs/quickstart.json on
# 8 ranks of this machine and prints its table; beside it, the plan of Llama 3 8B on 8 GPUs, computed without any.
#   scripts/quickstart.sh [--output FILE.json]
set -euo pipefail
cd "$(dirname "$0")/.."

output=()
case "${1-}" in
  "") ;;
  --output) output=(--output "${2:?--output needs a file}" --overwrite) ;;
  *)
    echo "usage: $0 [--output FILE.json]" >&2
    exit 2
    ;;
esac

scripts/install_deps.sh >&2
bazel build --color=no --noshow_progress //:muonbench >&2

# Debian's OpenBLAS does not know newer processors and then uses kernels of 2004. It takes another's name.
if [ -z "${OPENBLAS_CORETYPE-}" ]; then
  if grep -q avx512vl /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=SkylakeX
  elif grep -q avx2 /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=Haswell
  fi
fi
# Containers run as root, which Open MPI wants to be told twice.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

echo "== measured: 8 ranks on this machine, configs/quickstart.json"
mpirun --oversubscribe --bind-to none -n 8 bazel-bin/src/muonbench run --config configs/quickstart.json "${output[@]}"

echo
echo "== planned: Llama 3 8B on 8 GPUs, gtp_remat 8, configs/llama3_8b_8gpus.json"
bazel-bin/src/muonbench plan --config configs/llama3_8b_8gpus.json
