#!/bin/sh
# check_layers.sh - an #include may only point to the same folder or an earlier line of this list.
# Folders on one line may not include each other. The tokenizer's own folders have such a list, too.
set -eu
cd "$(dirname "$0")/.."
layers='base
config tensor
device
comm
graph
ops
models
optim
passes
exec
tokenizer template
data
checkpoint monitor
board
watch sweep
train
plugin
components
library'
tokenizer='text
format
regex
normalize
pretokenize
model
bpe unigram
cache
decode
hf
sentencepiece
train'
status=0
# rank_of FOLDER LIST
rank_of() {
    echo "$2" | awk -v name="$1" '{ for (i = 1; i <= NF; i++) if ($i == name) { print NR; exit } }'
}
for file in $(tools/files.sh 'src/*.c' 'src/*.h' 'src/*.cu'); do
    folder=$(echo "$file" | cut -d/ -f2)
    case $folder in *.*) folder=components ;; esac
    own=$(rank_of "$folder" "$layers")
    if [ -z "$own" ]; then
        echo "$file: folder $folder is in no layer"
        status=1
        continue
    fi
    for other in $(sed -n 's/^ *# *include "\([a-z_]*\)\/.*/\1/p' "$file" | sort -u); do
        [ "$other" = "$folder" ] && continue
        rank=$(rank_of "$other" "$layers")
        if [ -z "$rank" ] || [ "$rank" -ge "$own" ]; then
            echo "$file: layer $folder may not include $other/"
            status=1
        fi
    done
done
# Files of src/tokenizer itself are above its folders, but for tokenizer.h, which all may include.
for file in $(tools/files.sh 'src/tokenizer/*/*.c' 'src/tokenizer/*/*.h'); do
    folder=$(echo "$file" | cut -d/ -f3)
    own=$(rank_of "$folder" "$tokenizer")
    for header in $(sed -n 's/^ *# *include "tokenizer\/\(.*\)"/\1/p' "$file"); do
        other=${header%/*}
        [ "$header" = tokenizer.h ] || [ "$other" = "$folder" ] && continue
        rank=$(rank_of "$other" "$tokenizer")
        if [ -z "$own" ] || [ -z "$rank" ] || [ "$rank" -ge "$own" ]; then
            echo "$file: folder $folder may not include tokenizer/$header"
            status=1
        fi
    done
done
# Kernels see what a launch is, and attributes of ops; nothing of graphs.
for file in $(tools/files.sh 'src/*.cu'); do
    if sed -n 's/^#include "\(.*\)"/\1/p' "$file" | grep -qv -e '^device/cuda/kernel.h$' -e '^device/cuda/mma.h$' -e '^ops/' -e '^tensor/target.h$'; then
        echo "$file: .cu files include device/cuda/kernel.h, mma.h, tensor/target.h and headers of ops only"
        status=1
    fi
done
exit $status
