#!/bin/bash
# gpu_check.sh - what must hold on a GPU: every kernel beside its reference, trainings beside the CPU's, one of them 200
# steps of 10M parameters, curves of the original, and compute-sanitizer over some kernels where it is installed.
# usage: gpu-check [--only STAGE] [--skip STAGE]   stages: devices memory kernels trainings long goldens sanitizer
# Runs from the folder that `make gpu-bundle` makes. Results come as they are found, in gpu-check.log, too.
set -uo pipefail
cd "$(dirname "$0")"
[ -x build/modalities ] || cd ..
only= skip= failed=0 box=${GPU_CHECK_BOX:-} # seconds of a stage at most
all=${box:+9999}
all=${all:-590} # seconds of all stages: a command of ten minutes ends by itself
while [ $# -gt 0 ]; do
    case $1 in
    --only) only=$2 && shift 2 ;;
    --skip) skip="$skip $2" && shift 2 ;;
    *) echo "gpu-check: allowed are --only STAGE and --skip STAGE; stages: devices memory kernels trainings long goldens sanitizer" && exit 2 ;;
    esac
done
export LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export MODALITIES_CUDA=${MODALITIES_CUDA:-$PWD/build/modalities-cuda.so} MODALITIES_PROGRAM=$PWD/build/modalities
stage() { # name, seconds, command
    local name=$1 seconds=$2 start=$SECONDS
    shift 2
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    case " $skip " in *" $name "*) return 0 ;; esac
    [ "$seconds" -lt $((all - SECONDS)) ] || seconds=$((all > SECONDS ? all - SECONDS : 1))
    if timeout "$seconds" "$@" 2>&1 | tee -a gpu-check.log; then
        echo "{\"stage\": \"$name\", \"ok\": true, \"seconds\": $((SECONDS - start))}" | tee -a gpu-check.log
    else
        echo "{\"stage\": \"$name\", \"ok\": false, \"seconds\": $((SECONDS - start))}" | tee -a gpu-check.log
        failed=$((failed + 1))
    fi
}
usable() { build/modalities devices && build/modalities devices | grep -q '^cuda:0'; }
goldens() { # one that is missing is a failure
    local only="training_equals_golden"
    [ ! -e without-goldens ] || { echo "  the folder was made without goldens" && return 0; }
    [ -z "${GPU_CHECK_TINY:-}" ] || { export GOLDEN_STEPS=3 && only="golden_a_onecycle golden_c_llama_like"; }
    MODALITIES_SHARED=$PWD/shared MODALITIES_DEVICE=cuda build/tests/cuda_all --jobs 1 --without ranks --without fenced $only >goldens.log 2>&1
    grep -v '^time' goldens.log | tail -n 30
    grep -q '^[1-9][0-9]* passed, 0 failed, 0 skipped$' goldens.log
}
sanitized() { # kernels that share memory among threads, and the newest ones
    local tool op
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
        { echo "  compute-sanitizer is not installed here" && return 0; }
    for op in rms_norm_grad embed_grad cross_entropy float8_quantize float8_contract grouped_linear grouped_outer; do
        MODALITIES_TEST_IN_GPU_MEMORY=1 MODALITIES_TEST_OP=$op "$tool" --target-processes all --report-api-errors no --error-exitcode 9 \
            build/tests/cuda_all kernels_of_gpus || return 1
    done
}
export -f usable goldens sanitized
: >gpu-check.log
stage devices 60 bash -c usable
stage memory "${box:-60}" build/tests/cuda_all --jobs 1 a_program_takes all_of_a_gpus_memory # by themselves: they count what is free
[ -z "${GPU_CHECK_TINY:-}" ] || export MODALITIES_TEST_OP=rms_norm # all of them run on the mock under the address sanitizer
MODALITIES_TEST_IN_GPU_MEMORY=1 stage kernels "${box:-180}" build/tests/cuda_all kernels_of_gpus
unset MODALITIES_TEST_OP
stage trainings "${box:-150}" build/tests/cuda_all --without a_program_takes a_gpu_begins on_a_gpu_what on_a_gpu_resumes a_gpu_what recorded_steps_of_a_gpu_in_bf16 recorded_steps_of_a_gpu_with_two
stage long "${box:-120}" build/tests/cuda_all a_long_training
stage goldens "${box:-120}" bash -c goldens
stage sanitizer "${box:-90}" bash -c sanitized
exit "$failed"
