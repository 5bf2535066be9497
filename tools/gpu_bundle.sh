#!/bin/bash
# gpu_bundle.sh - puts what a GPU machine needs for `gpu-check` and `gpu-bench` into one folder: it may have neither this
# repository nor a network.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
to=$BUILD/gpu-bundle
rm -rf "$to" && mkdir -p "$to/build/tests" "$to/build/bench" "$to/bench" "$to/lib" "$to/tests/end_to_end"
install -m 755 "$BUILD/modalities" "$to/build/modalities"
install -m 755 "$BUILD/modalities-cuda.so" "$to/build/modalities-cuda.so"
install -m 755 "$BUILD/tests/cuda_all" "$to/build/tests/cuda_all"
install -m 755 "$BUILD/bench/gpu" "$to/build/bench/gpu"
cp bench/step_peer.py "$to/bench/"
strip --strip-debug "$to"/build/modalities "$to"/build/bench/gpu "$to"/build/modalities-cuda.so "$to"/build/tests/cuda_all
cp -r configs "$to/"
cp tests/end_to_end/*.yaml "$to/tests/end_to_end/"
mkdir -p "$to/src/ops" && cp src/ops/*.cu "$to/src/ops/"
# curves of the original, where they lie beside this repository
goldens=data/goldens/train texts=data/modalities/data
if [ -d "../shared/$goldens" ]; then
    mkdir -p "$to/shared/$goldens" "$to/shared/$texts"
    cp -r "../shared/$goldens/." "$to/shared/$goldens" && cp "../shared/$texts/lorem_ipsum_long.pbin" "$to/shared/$texts"
    chmod -R u+w "$to/shared"
else
    echo "../shared is not here, so gpu-check leaves the stage goldens out"
    touch "$to/without-goldens"
fi
install -m 755 tools/gpu_check.sh "$to/gpu-check"
install -m 755 tools/gpu_bench.sh "$to/gpu-bench"
# the C library is the other machine's own
ldd "$to/build/modalities" "$to/build/tests/cuda_all" "$to/build/bench/gpu" | awk '$3 ~ /^\// { print $3 }' | sort -u |
    grep -v -e '/libc\.so' -e '/libm\.so' -e '/libpthread' -e '/libdl\.so' -e '/ld-linux' | xargs -I{} cp -L {} "$to/lib/"
kilobytes=$(du -sk "$to" | cut -f1)
[ "$kilobytes" -le $((60 << 10)) ] || { echo "$to has $kilobytes KiB, more than 60 MiB"; exit 1; }
echo "$to: $((kilobytes / 1024)) MiB; on the GPU machine: ./gpu-check, ./gpu-bench"
