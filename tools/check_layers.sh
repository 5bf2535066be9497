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
files=$(tools/files.sh 'src/*.c' 'src/*.h' 'src/*.cu')
# shellcheck disable=SC2086
awk -v layers="$layers" -v tokenizer="$tokenizer" '
    function learn(list, rank,    line, n, i, name, m, k) {
        n = split(list, line, "\n")
        for (i = 1; i <= n; i++) {
            m = split(line[i], name, " ")
            for (k = 1; k <= m; k++) rank[name[k]] = i
        }
    }
    function complain(text) { print FILENAME ": " text; bad = 1 }
    BEGIN { learn(layers, layer); learn(tokenizer, part) }
    FNR == 1 {
        n = split(FILENAME, at, "/")
        folder = n > 2 ? at[2] : "components"
        if (!(folder in layer)) complain("folder " folder " is in no layer")
        # files of src/tokenizer itself are above its folders, but for tokenizer.h, which all may include
        own = folder == "tokenizer" && n > 3 ? at[3] : ""
        if (own && !(own in part)) complain("folder " own " of the tokenizer is in no order")
    }
    /^ *# *include "/ {
        split($0, quoted, "\"")
        n = split(quoted[2], to, "/")
        if (n > 1 && to[1] != folder && to[1] != ".." && !(to[1] in layer && layer[to[1]] < layer[folder]))
            complain("layer " folder " may not include " to[1] "/")
        if (own && to[1] == "tokenizer" && quoted[2] != "tokenizer/tokenizer.h" && to[2] != own && !(to[2] in part && part[to[2]] < part[own]))
            complain("folder " own " may not include " quoted[2])
        # kernels see what a launch is, and attributes of ops; nothing of graphs
        if (FILENAME ~ /\.cu$/ && quoted[2] !~ /^(device\/cuda\/kernel\.h|device\/cuda\/mma\.h|ops\/.*|tensor\/target\.h)$/)
            complain(".cu files include device/cuda/kernel.h, mma.h, tensor/target.h and headers of ops only")
    }
    END { exit bad }' $files
