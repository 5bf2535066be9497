#!/bin/sh
# cuda_toolkit.sh - puts CUDA's compiler, headers and libraries into BUILD/cuda, from NVIDIA's packages on PyPI, at versions
# that were tried together; for `make cuda` where no toolkit is installed, without root.
#
# usage: tools/cuda_toolkit.sh    BUILD: the folder of builds (build); 2 GB are fetched and 4 GB written
set -eu
cd "$(dirname "$0")/.."
to=${BUILD:-build}/cuda
packages="nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
nvidia-cublas==13.1.0.3 nvidia-cudnn-cu13==9.19.0.56 nvidia-nccl-cu13==2.28.9 nvidia-cuda-cupti==13.0.85 nvidia-nvtx==13.0.85 nvidia-cuda-nvrtc==13.0.88"
if [ "$(cat "$to/packages" 2>/dev/null)" = "$packages" ]; then
    echo "$to is complete"
    exit 0
fi
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    echo "dependencies: CUDA comes from PyPI, which needs Python's venv: apt-get install python3-venv" >&2
    exit 1
fi
rm -rf "$to"
mkdir -p "$to/include" "$to/lib64"
python3 -m venv "$to/python"
# the packages name each other loosely; all that is needed is listed
"$to/python/bin/pip" install --quiet --disable-pip-version-check --no-deps $packages
# one folder as an installed toolkit has it: links into those of the packages, relative so that it may move
(
    cd "$to"
    for folder in python/lib/python3*/site-packages/nvidia/*/; do
        for file in "$folder"include/*; do [ ! -e "$file" ] || ln -sf "../$file" include/; done
        for file in "$folder"lib/*; do [ ! -e "$file" ] || ln -sf "../$file" lib64/; done
        for part in bin nvvm; do [ ! -d "$folder$part" ] || ln -sfn "$folder$part" "$part"; done
    done
    [ -x bin/nvcc ] || { echo "dependencies: the packages brought no nvcc" >&2; exit 1; }
)
echo "$packages" >"$to/packages"
echo "$to: $("$to/bin/nvcc" --version | sed -n 's/.*release \([^,]*\),.*/CUDA \1/p')"
