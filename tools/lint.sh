#!/bin/sh
# lint.sh - clang-tidy on the headers' contracts and cppcheck on everything; warnings are errors.
# NODES bounds what the static analyzer explores of a function, which is nearly all the time: clang's own 225000 take ten times as long and
# reach 0.5 % more blocks of code.
set -eu
nodes=${NODES:-10000}
cd "$(dirname "$0")/.."
cppcheck --quiet --std=c11 --language=c --error-exitcode=1 --inline-suppr --enable=warning,portability \
    --suppress=missingIncludeSystem --suppress=returnDanglingLifetime --suppress=normalCheckLevelMaxBranches --suppress=nullPointerOutOfMemory --suppress=invalidPointerCast --suppress=unknownEvaluationOrder --suppress=uninitvar:src/tokenizer/bpe/merge.c \
    --suppress=unknownMacro:src/monitor/history.c \
    -j "$(nproc)" -Isrc -Itests -D__x86_64__ $(tools/files.sh 'src/*.c' 'cli/*.c')
checks='-*,bugprone-*,cert-err*,clang-analyzer-core.*,clang-analyzer-unix.*,-bugprone-easily-swappable-parameters,-bugprone-implicit-widening-of-multiplication-result,-bugprone-narrowing-conversions,-bugprone-reserved-identifier,-bugprone-assignment-in-if-condition,-bugprone-macro-parentheses,-cert-err33-c,-bugprone-branch-clone,-bugprone-suspicious-string-compare,-bugprone-sizeof-expression,-bugprone-not-null-terminated-result,-bugprone-integer-division,-cert-err34-c'
# What includes CUDA's headers is looked at where they are.
cuda=${CUDA_HOME:-/usr/local/cuda}/include
skip=none
[ -e "$cuda/cublasLt.h" ] || skip='/cuda/\|_cuda.c$'
files=$(tools/files.sh 'src/*.c' 'cli/*.c' | grep -v -e "$skip" | grep -v -e _fast.c -e _avx2.c -e _avx512.c -e _amx.c -e unicode_tables.c)
echo "$files" | xargs -P "$(nproc)" -n 8 sh -c \
    'clang-tidy --quiet --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes='"$nodes"' --warnings-as-errors="*" --checks="$0" "$@" -- -std=c11 -D_GNU_SOURCE -Isrc -isystem '"$cuda" "$checks"
