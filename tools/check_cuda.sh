#!/bin/bash
# check_cuda.sh - what can be known of the GPU part without a GPU: it compiles and links, no kernel keeps
# registers in memory or takes more than its budget, and on the mock all of it works.
set -uo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
if [ ! -x "$CUDA_HOME/bin/nvcc" ]; then
    echo "check-cuda: not applicable, there is no $CUDA_HOME/bin/nvcc (CUDA_HOME names another place)"
    exit 0
fi
make --no-print-directory -s -j2 cuda tests "$BUILD/modalities-cuda-mock.so" "$BUILD/tests/cuda_all" "$BUILD/bench/gpu" "$BUILD/tests/plans/cuda_plans" || exit 1
# Beside all that follows: cuDNN compiles for some minutes of one processor.
LD_LIBRARY_PATH=$BUILD/tests/plans:$CUDA_HOME/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 900 "$BUILD/tests/plans/cuda_plans" &
plans=$!
trap 'kill $plans 2>/dev/null' EXIT
make --no-print-directory -s -j2 BUILD="$BUILD-address" USUAL_LIB="$BUILD/libmodalities.a" ONLY_LEVEL="$(make -s best-level)" OPT=-O1 SAN=address,undefined \
    "$BUILD-address/modalities-cuda-mock.so" "$BUILD-address/tests/cuda_all" || exit 1

# "function NAME" of one architecture is followed by its spills and its registers.
cat "$BUILD"/gpu/src/ops/*.ptxas | awk '
    FNR == NR { budget[$1] = $2; next }
    /Compiling entry function/ { split($0, word, "\047"); name = word[2] }
    /bytes spill stores/ { if ($5 + $9 > 0) { print name ": " $0; bad = 1 } }
    /Used [0-9]+ registers/ {
        for (i = 1; i < NF; i++) if ($i == "Used") used = $(i + 1)
        most = name in budget ? budget[name] : budget["*"]
        if (used > most) { print name ": " used " registers, its budget is " most; bad = 1 }
        n++
    }
    END { print n " kernels compiled for two kinds of GPUs"; exit bad }
' tools/cuda_registers.txt - || exit 1

# Without a driver the program says so and goes on with the CPU; it lists the libraries.
"$BUILD/modalities" devices | grep -q '^cuda .*cuBLASLt [0-9.]*, cuDNN [0-9.]*, NCCL [0-9.]*$' || exit 1

# Libraries are looked for in the order that docs/gpu.md tells: one that cannot be right is found first.
false=$(mktemp -d)
cp "$BUILD/tests/plans/libcuda.so.1" "$false/libcudart.so.13"
finds_false() { env "$@" "$BUILD/modalities" devices | grep -q 'of another version'; }
finds_false MODALITIES_CUDA_PATH="/nowhere:$false" && finds_false LD_LIBRARY_PATH="$false" &&
    finds_false MODALITIES_CUDA_PATH="$false" LD_LIBRARY_PATH="$CUDA_HOME/lib64" &&
    ! finds_false MODALITIES_CUDA_PATH="$CUDA_HOME/lib64" LD_LIBRARY_PATH="$false" &&
    mkdir "$false/lib64" && mv "$false"/*.13 "$false/lib64" &&
    { ldconfig -p | grep -q libcudart.so.13 || finds_false -u LD_LIBRARY_PATH CUDA_HOME="$false"; } || {
    echo "CUDA's libraries are not looked for in the order of docs/gpu.md"
    exit 1
}
rm -r "$false"

export MODALITIES_PROGRAM=$BUILD/modalities MODALITIES_CUDA_CACHE=off
# Few processes each, so beside each other: kernels under address sanitizer, and what a GPU machine gets, which works by itself,
# on the mock.
MODALITIES_CUDA=$PWD/$BUILD-address/modalities-cuda-mock.so \
    "$BUILD-address/tests/cuda_all" --timeout 900 test_kernels_of_gpus >"$BUILD/gpu-kernels.log" 2>&1 &
kernels=$!
trap 'kill $plans $kernels 2>/dev/null' EXIT
export MODALITIES_CUDA=$PWD/$BUILD/modalities-cuda-mock.so
BUILD=$BUILD tools/gpu_bundle.sh && GPU_CHECK_BOX=900 GPU_CHECK_TINY=1 "$BUILD/gpu-bundle/gpu-check" &&
    PYTHON=/nowhere/python3 GPU_BENCH_TINY=1 "$BUILD/gpu-bundle/gpu-bench" >"$BUILD/gpu-bench.log" || exit 1
[ "$(grep -c '"ok": true' "$BUILD/gpu-bundle/gpu-bench.json")" = 5 ] || { cat "$BUILD/gpu-bench.log" && exit 1; }
wait $kernels || { cat "$BUILD/gpu-kernels.log" && exit 1; }
tail -n 1 "$BUILD/gpu-kernels.log"
"$BUILD/tests/cuda_all" are_refused is_refused shipped test_ranks_on_gpus test_layouts_on_gpus test_commands_on_gpus test_float8_on_gpus test_memory_on_gpus ranks_on_two_gpus gpu_that_fails gpu_that_hangs uses_tf32 profiler_of_gpus profile_of_a_gpu \
    test_algorithms_on_gpus recorded_steps_of_a_gpu_have go_ahead left_out biases_of_routers stops_the_training wait_for_nobody a_gpu_begins cannot_record || exit 1
MODALITIES_DEVICE=cuda "$BUILD/tests/all" --without fenced_device test_generate.c:a_ test_text_inference.c:the_same_seed \
    test_text_inference.c:an_answer_ends || exit 1
wait $plans
