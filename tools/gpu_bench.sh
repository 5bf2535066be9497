#!/bin/bash
# gpu_bench.sh - speed on a GPU: kernels as shares of its limits, whole steps, and PyTorch beside where it is installed.
# usage: gpu-bench [--only STAGE] [--skip STAGE]   stages: ops gpt2 llama-1b llama-8b peer
# Runs from the folder that `make gpu-bundle` makes, within 10 minutes. Results come as they are found, as a table, and as
# lines of JSON in gpu-bench.json. GPU_BENCH_TINY=1 tries it without a GPU.
set -uo pipefail
cd "$(dirname "$0")"
[ -x build/modalities ] || cd ..
only= skip= failed=0 tiny=${GPU_BENCH_TINY:+tiny}
stages="ops gpt2 llama-1b llama-8b peer"
while [ $# -gt 0 ]; do
    case $1 in
    --only | --skip)
        case " $stages " in *" ${2:-} "*) ;; *) echo "gpu-bench: no stage \"${2:-}\"; stages: $stages" && exit 2 ;; esac
        if [ "$1" = --only ]; then only=$2; else skip="$skip $2"; fi
        shift 2
        ;;
    *) echo "gpu-bench: allowed are --only STAGE and --skip STAGE; stages: $stages" && exit 2 ;;
    esac
done
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export MODALITIES_CUDA=${MODALITIES_CUDA:-$PWD/build/modalities-cuda.so}
export MODALITIES_CUDA_CACHE=${MODALITIES_CUDA_CACHE:-$PWD/cache}
results=gpu-bench.json
: >"$results"
stage() { # name, seconds, command
    local name=$1 seconds=$2 start=$SECONDS ok=true
    shift 2
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    case " $skip " in *" $name "*) return 0 ;; esac
    echo "$name:"
    timeout "$seconds" "$@" || ok=false failed=$((failed + 1))
    echo "{\"stage\": \"$name\", \"ok\": $ok, \"seconds\": $((SECONDS - start))}" | tee -a "$results"
}
step() { MODELS=$1 build/bench/gpu steps "$results" $tiny; }
peer() {
    local python=${PYTHON:-python3}
    set -o pipefail
    if ! "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
        echo "  no PyTorch with a GPU here ($python)"
        return 0
    fi
    # where the memory does not suffice for as many sequences, half of them
    { "$python" bench/step_peer.py gpt2 bf16 64 1024 cuda || "$python" bench/step_peer.py gpt2 bf16 32 1024 cuda; } | tee -a "$results" || return 1
    { "$python" bench/step_peer.py llama-1b bf16 4 4096 cuda || "$python" bench/step_peer.py llama-1b bf16 2 4096 cuda; } | tee -a "$results" || return 1
    "$python" bench/step_peer.py llama-8b bf16 1 8192 cuda | tee -a "$results" || echo "  it has no memory for llama-8b"
}
export -f step peer
export results tiny
stage ops 150 build/bench/gpu ops "$results" $tiny
stage gpt2 70 bash -c 'step gpt2'
stage llama-1b 90 bash -c 'step llama-1b'
stage llama-8b 120 bash -c 'step llama-8b'
stage peer 150 bash -c peer
exit "$failed"
