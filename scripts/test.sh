#!/usr/bin/env bash
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs all checks of this repository on a machine without a GPU; needs nothing but Debian 12 and root or sudo. Where nvcc
# is, the CUDA build is made too, and what can be told of its program without a GPU is; scripts/test_gpu.sh runs it.
#   scripts/test.sh          everything
#   scripts/test.sh --fast   the tests alone: no linters, no sanitizers
# The last line is 'N passed, N failed'. It counts test targets, those run under sanitizers once more, and steps such as
# a linter as one test each; before it, each failure is told once more with the end of what it said. The exit status is 0
# only if something ran and nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

mode=full
case "${1-}" in
  "") ;;
  --fast) mode=fast ;;
  *)
    echo "usage: $0 [--fast]" >&2
    exit 2
    ;;
esac

passed=0
failed=0
output=$(mktemp)
failures=$(mktemp)
trap 'rm -f "$output" "$failures"' EXIT

# Quiet enough for a log that people read.
bazel_flags=(--color=no --curses=no --noshow_progress --noshow_loading_progress)

finish() {
  if command -v bazel >/dev/null; then bazel shutdown >/dev/null 2>&1; fi
  cat "$failures"
  echo "$passed passed, $failed failed"
  if [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]; then exit 0; fi
  exit 1
}

# remember NAME FILE: NAME failed; the errors in FILE and its end are told by finish, since a log is often read from its end.
remember() {
  {
    echo "== FAILED: $1"
    grep -E 'error:|ERROR:' "$2" | head -n 20
    tail -n 60 "$2"
  } >>"$failures"
}

# step NAME COMMAND...: one test, passed if the command ends with 0.
step() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  if "$@" 2>&1 | tee "$output"; then
    passed=$((passed + 1))
    echo "== $name: passed in $((SECONDS - start)) s"
  else
    failed=$((failed + 1))
    remember "$name" "$output"
    echo "== $name: FAILED in $((SECONDS - start)) s"
    return 1
  fi
}

# test_targets NAME ARGUMENT...: bazel test, each target one test. A run that ends badly without a failed target (a BUILD
# file that cannot be read, no target at all) is a failure of its own.
test_targets() {
  local name=$1 start=$SECONDS status good bad log
  shift
  echo "== $name"
  bazel test "${bazel_flags[@]}" --keep_going "$@" 2>&1 | tee "$output"
  status=$?
  good=$(grep -cE '^//[^ ]+ +(\(cached\) )?PASSED' "$output")
  bad=$(grep -cE '^//[^ ]+ +(\(cached\) )?(FAILED|FLAKY|TIMEOUT|NO STATUS|INCOMPLETE|REMOTE FAILURE)' "$output")
  if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$good" -eq 0 ]; }; then
    bad=1
    remember "$name" "$output"
  fi
  # Bazel names the log of a failed test in the line below it, shards and runs of one too.
  grep -E '^ +/.*/test(_attempts/.*)?\.log$' "$output" | sort -u | while read -r log; do remember "$name: $log" "$log"; done
  passed=$((passed + good))
  failed=$((failed + bad))
  echo "== $name: $good passed, $bad failed in $((SECONDS - start)) s"
}

our_sources() { find src tests -type f \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) | sort; }

layout_is_kept() {
  local file limit lines bad=0
  while read -r file; do
    case $file in
      src/*.h | src/*.cuh) limit=150 ;;
      src/*) limit=300 ;;
      *) limit=1000000 ;;
    esac
    lines=$(wc -l <"$file")
    if [ "$lines" -gt "$limit" ]; then
      echo "$file: $lines lines, at most $limit expected"
      bad=1
    fi
  done < <(our_sources)
  while read -r file; do
    if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0'; then
      echo "$file: no SPDX-License-Identifier in its head"
      bad=1
    fi
  done < <(our_sources; find BUILD WORKSPACE .bazelrc .ci scripts src tests -type f \
    \( -name BUILD -o -name WORKSPACE -o -name '*.bzl' -o -name '*.sh' -o -name '*.py' -o -path '.ci/*' \))
  return "$bad"
}

format_is_kept() {
  local said
  if said=$(our_sources | xargs clang-format --dry-run -Werror 2>&1); then return 0; fi
  grep 'error:' <<<"$said" || echo "$said"
  echo "Remedy: find src tests -name '*.h' -o -name '*.cc' | xargs clang-format -i"
  return 1
}

# Where a CUDA toolkit lies, if anywhere.
cuda_home() {
  local home
  for home in ${CUDA_HOME:-/usr/local/cuda /opt/cuda}; do
    if [ -x "$home/bin/nvcc" ]; then
      echo "$home"
      return
    fi
  done
  return 1
}

# Compiled and linked, since there is no GPU to run on. bazel-bin keeps pointing at the build without CUDA; .bazelrc's
# --platform_suffix names the folder of this one.
cuda_program=bazel-out/k8-optcuda/bin/src/muonbench
cuda_builds() {
  # shellcheck disable=SC2046
  bazel build "${bazel_flags[@]}" --config=cuda --cuda_archs=90a --experimental_convenience_symlinks=ignore \
    //src/... //tests/bench/... //tests/cuda/... $(scripts/test_gpu.sh --targets)
}

# What Bazel says to the compiler, as far as it matters to a reader of the code. Sources that include CUDA's headers are
# read where those are.
tidy_is_content() {
  local flags=(-std=c++20 -I. -DOMPI_SKIP_MPICXX -DSPDLOG_FMT_EXTERNAL) folder home
  local without=(-not -path 'src/backend/cuda/*' -not -name '*_cuda.cc')
  for folder in $(mpicxx --showme:incdirs); do flags+=(-isystem "$folder"); done
  if home=$(cuda_home); then
    flags+=(-isystem "$home/include" -isystem "$home/include/cccl")
    without=()
  fi
  # The slowest first, which are the longest: otherwise one of them would be left for the end.
  find src -name '*.cc' "${without[@]}" -printf '%s %p\n' | sort -rn | cut -d ' ' -f 2 |
    xargs -P "$(nproc)" -I FILE sh -c 'said=$(clang-tidy --quiet "$@" 2>&1) || { echo "$said" | grep -v "warnings generated"; exit 1; }' \
      tidy FILE -- "${flags[@]}"
}

# Rooms up to program are pure; what they link shows it.
unit_tests_link_no_mpi() {
  local program found=0 bad=0
  for program in bazel-bin/tests/unit/*_test; do
    [ -x "$program" ] || continue
    found=1
    if ldd "$program" | grep -q libmpi; then
      echo "$program links MPI"
      bad=1
    fi
  done
  [ "$found" -eq 1 ] && [ "$bad" -eq 0 ]
}

if ! scripts/install_deps.sh --test; then
  failed=1
  finish
fi
if [ $mode = fast ]; then
  test_targets tests //tests/... --test_tag_filters=-gpu
  finish
fi

step "build" bazel build "${bazel_flags[@]}" --keep_going //...
test_targets "tests" //tests/... --test_tag_filters=-gpu
step "unit tests link no MPI" unit_tests_link_no_mpi
if cuda_home >/dev/null; then
  step "CUDA build" cuda_builds && step "CUDA program without a GPU" scripts/check_cuda_build.sh $cuda_program
else
  echo "== CUDA build: not run, no nvcc here"
fi
step "layout" layout_is_kept
step "clang-format" format_is_kept
step "clang-tidy" tidy_is_content
test_targets "tests under ASan and UBSan" //tests/unit/... //tests/conformance/... //tests/mpi/... \
  --config=asan --build_tests_only \
  --test_tag_filters=-gpu,-no_sanitizer
finish
