#!/usr/bin/env bash
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
#
# What can be said of a program built with --config=cuda on a machine without a GPU: what it is linked to, that it starts,
# that it plans, and that it refuses to run rather than take the CPU.
#   scripts/check_cuda_build.sh PROGRAM
# Exit status: 0; 1 if something is wrong, each named; 2 usage.
set -uo pipefail

program=$(realpath -e "${1:?usage: $0 PROGRAM}") || exit 2
cd "$(dirname "$0")/.." || exit 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

bad=0
wrong() {
  echo "$program: $*" >&2
  bad=1
}

# Whatever else it needed, a machine with CUDA and an MPI might lack.
links_what_is_allowed() {
  local needed libraries name
  needed='mpi openblas cudart cublas cublasLt nccl stdc++ m gcc_s c'
  libraries=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  [ -n "$libraries" ] || wrong "readelf names no shared library"
  for name in $libraries; do
    case $name in
      ld-linux*.so.*) continue ;;
      lib*.so*) case " $needed " in *" $(sed 's/^lib//; s/\.so.*//' <<<"$name") "*) continue ;; esac ;;
    esac
    wrong "needs $name; expected: ld-linux, and of lib* $needed"
  done
}

says_its_version() {
  local said
  said=$(timeout 10 "$program" --version) || wrong "--version: exit status $?"
  grep -q '^backend cuda; .*nccl' <<<"$said" || wrong "--version: expected a line on backend cuda, got: $said"
}

plans() {
  local result=$folder/plan.json
  timeout 30 "$program" plan --config configs/tiny.json --set run.backend=cuda --output "$result" >"$folder/log" 2>&1 ||
    wrong "plan: exit status $?: $(cat "$folder/log")"
  grep -qs '"backend": "cuda"' "$result" || wrong "plan: expected a result of backend cuda"
}

refuses_to_run() {
  local status said result=$folder/run.json words='0 devices visible' start=$SECONDS
  timeout -k 5 20 mpirun --oversubscribe --bind-to none -n 4 "$program" run --config configs/tiny.json \
    --set run.backend=cuda --output "$result" >"$folder/log" 2>&1 </dev/null
  status=$?
  said=$(grep -c "$words" "$folder/log")
  [ $status -eq 2 ] || wrong "run without a device: exit status $status, expected 2: $(cat "$folder/log")"
  [ "$said" -eq 1 ] || wrong "run without a device: '$words' $said times, expected 1: $(cat "$folder/log")"
  [ ! -e "$result" ] || wrong "run without a device: left a result"
  [ $((SECONDS - start)) -lt 10 ] || wrong "run without a device: took $((SECONDS - start)) s, expected less than 10"
}

links_what_is_allowed
says_its_version
plans
if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
  echo "there is a GPU here: how the program refuses to run without one was not looked at"
else
  refuses_to_run
fi
exit $bad
