#!/usr/bin/env bash
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
#
# The tests that need a GPU, with programs that were built elsewhere: no Bazel, no compiler, no network. Made of
#   bazel build --config=cuda $(scripts/test_gpu.sh --targets)
#   scripts/test_gpu.sh --list          files to carry, besides this repository's own
#   scripts/test_gpu.sh FOLDER [NAME]   on the GPU machine; FOLDER takes log.txt and summary.json; NAME: only steps whose
#                                       names hold it
# mpirun is taken from the PATH. Without one there, runtime.tar.xz is unpacked, made where the programs were built by
#   scripts/pack_runtime.sh runtime.tar.xz bazel-bin/src/muonbench
# CUDA_VISIBLE_DEVICES limits the GPUs, MUONBENCH_BIN (bazel-bin) and SECONDS_IN_ALL (420) are read too.
# The last line is 'N passed, N failed'; what could not run is listed before it and is neither.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

bin=${MUONBENCH_BIN:-bazel-bin}
seconds_in_all=${SECONDS_IN_ALL:-420}
programs=(
  src/muonbench
  tests/conformance/cuda_device_test
  tests/cuda/comm_test_program
  tests/mpi/parity_test_program
  tests/mpi/layer_wise_test_program
  tests/mpi/closed_forms_test_program
  tests/mpi/fp64_reference_test_program
  tests/mpi/every_mode_test_program
)

case "${1-}" in
  --targets)
    for program in "${programs[@]}"; do echo "//${program%/*}:${program##*/}"; done
    exit 0
    ;;
  --list)
    for program in "${programs[@]}"; do echo "$bin/$program"; done
    echo runtime.tar.xz
    exit 0
    ;;
  "" | -*)
    echo "usage: $0 FOLDER [NAME] | --list | --targets" >&2
    exit 2
    ;;
esac
mkdir -p "$1" || exit 2
log=$(cd "$1" && pwd)/log.txt
summary=$(cd "$1" && pwd)/summary.json
only=${2-}
rows=$(mktemp)
scratch=$(mktemp -d)
trap 'rm -rf "$rows" "$scratch"' EXIT
: >"$log"

# ---- What the programs need.

for program in "${programs[@]}"; do
  [ -x "$bin/$program" ] || { echo "$bin/$program is missing; see $0 --list" | tee -a "$log" >&2; exit 1; }
done
if ! command -v mpirun >/dev/null; then
  [ -f runtime.tar.xz ] || { echo "neither mpirun on the PATH nor runtime.tar.xz here" | tee -a "$log" >&2; exit 1; }
  runtime=$scratch/runtime
  mkdir "$runtime" && tar -C "$runtime" -xf runtime.tar.xz
  # shellcheck source=/dev/null
  . "$runtime/environment"
fi
# Some machines have CUDA's libraries in Python packages alone.
if ldd "$bin/src/muonbench" | grep -q 'not found'; then
  for folder in $(python3 -c 'import glob, sys
for path in sys.path: print(*glob.glob(path + "/nvidia/*/lib"), sep="\n")'); do
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
  done
  export LD_LIBRARY_PATH
fi
if ldd "$bin/src/muonbench" | grep 'not found' | tee -a "$log" >&2; then exit 1; fi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
# NVLink multicast holds resources of the whole host; nothing here uses collectives that profit from it.
export NCCL_NVLS_ENABLE=0
MUONBENCH=$(realpath "$bin/src/muonbench")
export MUONBENCH MPIRUN=mpirun PYTHONDONTWRITEBYTECODE=1
if [ -n "${CUDA_VISIBLE_DEVICES-}" ]; then
  GPUS=$CUDA_VISIBLE_DEVICES
else
  GPUS=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null | paste -sd, -)
fi
[ -n "$GPUS" ] || { echo "no GPU: nvidia-smi names none" | tee -a "$log" >&2; exit 1; }
export GPUS
first_gpu=${GPUS%%,*}
gpu_count=$(tr ',' '\n' <<<"$GPUS" | grep -c .)

# ---- Steps.

begin=$SECONDS
note() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$rows"; }

# step NAME SECONDS COMMAND...: one test, passed if the command ends with 0 in time. Tests of its own that it skipped are
# counted in the note. One that had less than its SECONDS, used them up and had not failed by then was not run.
step() {
  local name=$1 limit=$2 start=$SECONDS status output=$scratch/output skipped left cut_short=no
  shift 2
  [[ $name == *"$only"* ]] || return 0
  left=$((seconds_in_all - (SECONDS - begin)))
  if [ $left -lt 5 ]; then
    not_run "$name" "no time left of $seconds_in_all s"
    return 0
  fi
  if [ "$limit" -gt $left ]; then
    limit=$left
    cut_short=yes
  fi
  timeout -k 10 "$limit" "$@" >"$output" 2>&1 </dev/null
  status=$?
  skipped=$(grep -cE '^(.\[[0-9;]*m)?\[  SKIPPED \].*\(|\.\.\. skipped' "$output")
  { echo "==== $name: $* -> $status"; cat "$output"; } >>"$log"
  if [ $status -eq 0 ]; then
    note "$name" passed $((SECONDS - start)) "$([ "$skipped" -eq 0 ] || echo "$skipped skipped")"
    echo "passed  $((SECONDS - start)) s  $name$([ "$skipped" -eq 0 ] || echo ", $skipped of its tests skipped")"
  elif [ $cut_short = yes ] && [ $((SECONDS - start)) -ge "$limit" ] && [[ $status == 124 || $status == 137 ]] &&
    ! grep -qaE 'FAIL|\.\.\. ERROR' "$output"; then
    not_run "$name" "no time left: ended after $limit s"
  else
    note "$name" failed $((SECONDS - start)) "status $status"
    echo "FAILED  $((SECONDS - start)) s  $name: status $status"
    grep -aE 'FAILED|error|Error|FAIL:' "$output" | head -n 5
  fi
}

not_run() {
  [[ $1 == *"$only"* ]] || return 0
  note "$1" "not run" 0 "$2"
  echo "not run      $1: $2"
}

one=(env "CUDA_VISIBLE_DEVICES=$first_gpu")
all=(env "CUDA_VISIBLE_DEVICES=$GPUS")
job=(mpirun --oversubscribe --bind-to none -n)
over_mpi=(MUONBENCH_TEST_BACKEND=cuda MUONBENCH_TEST_TRANSPORT=mpi)
over_nccl=(MUONBENCH_TEST_BACKEND=cuda MUONBENCH_TEST_TRANSPORT=nccl)
muonbench=$bin/src/muonbench
device_test=$bin/tests/conformance/cuda_device_test
comm_test=$bin/tests/cuda/comm_test_program
parity_test=$bin/tests/mpi/parity_test_program
layer_wise_test=$bin/tests/mpi/layer_wise_test_program
closed_forms_test=$bin/tests/mpi/closed_forms_test_program
fp64_test=$bin/tests/mpi/fp64_reference_test_program
every_mode_test=$bin/tests/mpi/every_mode_test_program
golden() { golden_words=("$muonbench" golden tests/golden/golden.json --set run.backend=cuda --set "run.transport=$1"); }

{ nvidia-smi -L; nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv; "$muonbench" --version; } >>"$log" 2>&1

# The quick ones first: what is broken shows early.
step "device conformance" 120 "${one[@]}" "$device_test"
step "transports, 1 rank" 60 "${one[@]}" "${job[@]}" 1 "$comm_test"
for n in 2 4 8; do
  step "transport mpi, $n ranks on one GPU" 60 "${one[@]}" "${job[@]}" $n "$comm_test" '--gtest_filter=*mpi*:Nccl*'
done
# Blocks by copy engines, of one GPU too; sums by way of the host there.
for n in 2 4; do
  step "transport copy_engine, $n ranks on one GPU" 60 "${one[@]}" "${job[@]}" $n "$comm_test" '--gtest_filter=*copy_engine*'
done
golden mpi
for n in 1 2 4 8; do
  step "golden files over mpi, $n ranks on one GPU" 60 "${one[@]}" "${job[@]}" $n "${golden_words[@]}"
done
step "golden files over mpi, 4 ranks on one GPU, tp 2" 60 \
  "${one[@]}" "${job[@]}" 4 "${golden_words[@]}" --set parallelism.tp=2
golden nccl
step "golden files over nccl, 1 rank" 60 "${one[@]}" "${job[@]}" 1 "${golden_words[@]}"
for n in 1 2 4 8; do
  step "parity over mpi, $n ranks on one GPU" 120 "${one[@]}" "${over_mpi[@]}" "${job[@]}" $n "$parity_test"
done
step "parity over nccl, 1 rank" 60 "${one[@]}" "${over_nccl[@]}" "${job[@]}" 1 "$parity_test"
for n in 2 4; do
  step "whole weights on replicas over mpi, $n ranks on one GPU" 120 \
    "${one[@]}" "${over_mpi[@]}" "${job[@]}" $n "$layer_wise_test"
done
for n in 1 4; do
  step "closed forms over mpi, $n ranks on one GPU" 90 "${one[@]}" "${over_mpi[@]}" "${job[@]}" $n "$closed_forms_test"
done
step "fp64 reference over mpi, 4 ranks on one GPU" 90 "${one[@]}" "${over_mpi[@]}" "${job[@]}" 4 "$fp64_test"
for n in 1 4 8; do
  step "every mode and way to travel over mpi, $n ranks on one GPU" 240 \
    "${one[@]}" "${over_mpi[@]}" "${job[@]}" $n "$every_mode_test"
done
for cases in Transports Ho23Gpus Ho12BitParity Tf32 Algorithms Ho11ConcurrentGroups CpuAgainstCuda OutOfMemory Watchdog \
  Ho17LargeMessages; do
  step "field cases: $cases" 150 python3 tests/cuda/field_cases_test.py -v $cases
done

if [ "$gpu_count" -gt 1 ]; then
  step "transports, $gpu_count ranks on as many GPUs" 60 "${all[@]}" "${job[@]}" "$gpu_count" "$comm_test"
  for transport in nccl copy_engine; do
    over=(MUONBENCH_TEST_BACKEND=cuda "MUONBENCH_TEST_TRANSPORT=$transport")
    on_all=("${all[@]}" "${over[@]}" "${job[@]}" "$gpu_count")
    step "parity over $transport, $gpu_count ranks" 240 "${on_all[@]}" "$parity_test"
    step "whole weights on replicas over $transport, $gpu_count ranks" 240 "${on_all[@]}" "$layer_wise_test"
    step "closed forms over $transport, $gpu_count ranks" 240 "${on_all[@]}" "$closed_forms_test"
    step "fp64 reference over $transport, $gpu_count ranks" 180 "${on_all[@]}" "$fp64_test"
    step "every mode and way to travel over $transport, $gpu_count ranks" 360 "${on_all[@]}" "$every_mode_test"
    golden $transport
    step "golden files over $transport, $gpu_count ranks" 60 "${all[@]}" "${job[@]}" "$gpu_count" "${golden_words[@]}"
  done
else
  not_run "nccl and copy_engine between GPUs" "one GPU"
fi

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
if [ -n "$sanitizer" ]; then
  golden nccl
  for tool in memcheck racecheck; do
    check=("$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 20)
    # Not what asks for more memory than there is on purpose, and not what takes minutes and runs no other kernels.
    step "$tool: device" 120 "${one[@]}" "${check[@]}" "$device_test" \
      '--gtest_filter=-*RefusesMoreMemory*:*NsOfABatch*:*NsInHigh*:*SlicesMakeUp*:*SlicesInMedium*:*SlicesOfWhichever*:*OfLargeMatricesAreExact*:*GramInMediumIsCloser*:*GramOfStretches*:*GramInHighest*'
    step "$tool: golden files" 60 "${one[@]}" "${check[@]}" "${golden_words[@]}"
  done
  # NCCL asks for kernels of architectures that are not there, and goes on.
  step "memcheck: transports" 150 "${one[@]}" "$sanitizer" --tool memcheck --report-api-errors no --error-exitcode 9 \
    "$comm_test"
else
  not_run "memcheck and racecheck" "no compute-sanitizer here"
fi

# ---- What came of it.

python3 - "$rows" "$summary" "$((SECONDS - begin))" "$GPUS" <<'END'
import json, sys
rows, path, seconds, gpus = sys.argv[1:]
steps = [dict(zip(("name", "status", "seconds", "note"), line.rstrip("\n").split("\t"))) for line in open(rows)]
for step in steps:
    step["seconds"] = int(step["seconds"])
json.dump({"gpus": gpus, "seconds": int(seconds), "steps": steps}, open(path, "w"), indent=1)
END
count() { awk -F '\t' -v status="$1" '$2 == status { n++ } END { print n + 0 }' "$rows"; }
[ "$(count 'not run')" -eq 0 ] || echo "$(count 'not run') not run, in $((SECONDS - begin)) s; see $summary"
echo "$(count passed) passed, $(count failed) failed"
[ "$(count passed)" -gt 0 ] && [ "$(count failed)" -eq 0 ]
