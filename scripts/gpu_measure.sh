#!/usr/bin/env bash
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
#
# Measures what this machine's GPUs can show, with programs that are built already (bazel build --config=cuda //:muonbench
# //tests/bench:gpu_bench //tests/bench:exchange_bench), in some seven minutes on one GPU, nine on two:
#   scripts/gpu_measure.sh FOLDER [NAME]      NAME: only results whose names hold it
# One GPU: its pieces (gpu_bench), a whole model on one rank, and 8 ranks that share it. Several: whole models and plain
# collectives over NCCL and by copy engines. Results are JSON files in FOLDER; their tables (scripts/gpu_table.py) come last.
# Programs and launcher may be elsewhere: MUONBENCH, GPU_BENCH, EXCHANGE_BENCH, MPIRUN. SECONDS_IN_ALL (900): what there is
# no time left for is named and left out, and what was measured by then is in FOLDER.
set -uo pipefail

folder=$(mkdir -p "${1:?usage: $0 FOLDER [NAME]}" && cd "$1" && pwd) || exit 2
cd "$(dirname "$0")/.." || exit 2
muonbench=${MUONBENCH:-bazel-bin/src/muonbench}
gpu_bench=${GPU_BENCH:-bazel-bin/tests/bench/gpu_bench}
exchange_bench=${EXCHANGE_BENCH:-bazel-bin/tests/bench/exchange_bench}
mpirun=${MPIRUN:-mpirun}
only=${2-}
seconds_in_all=${SECONDS_IN_ALL:-900}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" -eq 0 ]; then
  echo "$0: nvidia-smi shows no GPU" >&2
  exit 2
fi

# Clocks say whether a figure was taken at full speed.
nvidia-smi --query-gpu=timestamp,index,clocks.sm,clocks.mem,power.draw,temperature.gpu,memory.used \
  --format=csv,nounits -lms 500 >"$folder/clocks.csv" &
clocks=$!
trap 'kill $clocks' EXIT

failed=0 asked=0
# launched RESULT SECONDS RANKS COMMAND...: what fails or hangs costs its own figures alone.
launched() {
  local result=$1 limit=$2 ranks=$3 begin=$SECONDS left=$((seconds_in_all - SECONDS))
  shift 3
  [[ $result == *"$only"* ]] || return 0
  asked=1
  if [ $left -lt 15 ]; then
    echo "== $result: no time left of $seconds_in_all s" >&2
    failed=1
    return 0
  fi
  echo "== $result, $ranks ranks: $*" >&2
  timeout -k 10 $((limit < left ? limit : left)) "$mpirun" --oversubscribe --bind-to none -n "$ranks" "$@"
  local code=$?
  echo "== exit status $code after $((SECONDS - begin)) s" >&2
  [ $code -eq 0 ] || failed=1
}
# bench RESULT SECONDS RANKS COMMAND...: a program that prints its result.
bench() {
  local printed=$folder/.$1.json
  launched "$@" >"$printed"
  if [ -s "$printed" ]; then mv "$printed" "$folder/$1.json"; else rm -f "$printed"; fi
}
# step RANKS RESULT CONFIG [--set KEY=VALUE]...
step() {
  local ranks=$1 result=$2 config=$3
  shift 3
  launched "$result" 150 "$ranks" "$muonbench" run --config "configs/gpu/$config.json" "$@" \
    --output "$folder/$result.json" --overwrite --format csv >/dev/null
}

if [ "$gpus" -eq 1 ]; then
  bench gpu_bench 240 1 "$gpu_bench"
  step 1 llama3_8b_1gpu llama3_8b_1gpu
  for algorithm in syrk gram auto; do
    step 1 llama3_8b_1gpu_ns_$algorithm llama3_8b_1gpu --set muon.ns_algorithm=$algorithm
  done
  step 8 qwen3_30b_a3b_8ranks_1gpu qwen3_30b_a3b_8ranks_1gpu
  step 8 qwen3_30b_a3b_8ranks_1gpu_batched qwen3_30b_a3b_8ranks_1gpu \
    --set muon.ns_batch_size=16 --set run.verify=false --set 'modes=["layer_sharded","duplicated"]'
  bench exchange_bench 60 8 "$exchange_bench" cuda mpi 1048576 67108864
else
  ranks=2
  for count in 4 8; do [ "$gpus" -ge $count ] && ranks=$count; done
  # NVLink multicast is left alone: what goes wrong in it stays wrong for other programs.
  export NCCL_NVLS_ENABLE=0
  bench exchange_bench 90 $ranks "$exchange_bench" cuda nccl
  bench exchange_bench_copy_engine 90 $ranks "$exchange_bench" cuda copy_engine
  step $ranks llama3_8b_${ranks}gpus llama3_8b_${ranks}gpus --set run.timing=phases
  step $ranks llama3_8b_${ranks}gpus_tp2 llama3_8b_${ranks}gpus --set run.timing=phases \
    --set parallelism.gtp_remat=$((ranks / 2)) --set parallelism.tp=2
  step $ranks qwen3_30b_a3b_${ranks}gpus qwen3_30b_a3b_${ranks}gpus --set run.timing=phases
  for algorithm in syrk gram auto; do
    step $ranks llama3_8b_${ranks}gpus_ns_$algorithm llama3_8b_${ranks}gpus --set run.timing=phases \
      --set muon.ns_algorithm=$algorithm --set 'modes=["layer_sharded","duplicated"]'
  done
  # Ways to travel, each beside the default's run above: bytes, memory, and how much of exchange and NS goes on at once.
  for way in exchange=fused return_dtype=bf16 exchange_chunks=4 exchange_chunks=16; do
    step $ranks llama3_8b_${ranks}gpus_"${way//=/_}" llama3_8b_${ranks}gpus --set run.timing=phases \
      --set 'modes=["layer_sharded"]' --set "muon.$way"
  done
  # The exchange beside NS, and what carries it.
  for waves in 1 4 16; do
    step $ranks llama3_8b_${ranks}gpus_copy_engine_exchange_chunks_$waves llama3_8b_${ranks}gpus --set run.timing=phases \
      --set 'modes=["layer_sharded"]' --set run.transport=copy_engine --set muon.exchange_chunks=$waves
  done
  step $ranks llama3_8b_${ranks}gpus_all_ways llama3_8b_${ranks}gpus --set run.timing=phases --set 'modes=["layer_sharded"]' \
    --set muon.exchange=fused --set muon.return_dtype=bf16 --set muon.exchange_chunks=4
  step $ranks llama3_8b_${ranks}gpus_distributed llama3_8b_${ranks}gpus --set run.timing=phases \
    --set 'modes=["distributed","auto"]'
  step $ranks llama3_8b_${ranks}gpus_verified llama3_8b_${ranks}gpus \
    --set model.layers=2 --set run.verify=true --set run.steps=3
fi

if [ $asked -eq 0 ]; then
  echo "$0: '$only' is in no result's name" >&2
  exit 2
fi
python3 scripts/gpu_table.py "$folder"
exit $failed
